"""Programs that may run another one whatever their words are, those that never do, and Python modules that are programs."""

from __future__ import annotations

# Programs that may start what is in their words, their input or a file, whatever the words are
MAY_RUN_ANYTHING = frozenset(
    # Environment, rights, limits, scheduling
    "env sudo sudoedit doas pkexec su su-exec gosu runuser setpriv sg newgrp login nohup timeout nice ionice chrt taskset "
    "stdbuf unbuffer setsid prlimit choom numactl schedtool cpulimit softlimit chpst setuidgid envuidgid envdir capsh runcon "
    "aa-exec cgexec setarch linux32 linux64 uname26 i386 i486 i586 i686 x86_64 amd64 arm armv7l armv8l aarch64 ppc ppc32 ppc64 "
    "ppc64le s390 s390x mips mips32 mips64 riscv32 riscv64 sparc sparc32 sparc64 loongarch64 alpha ia64 parisc "
    # Namespaces, containers, supervisors
    "unshare nsenter chroot fakeroot fakechroot proot bwrap firejail systemd-run systemd-nspawn systemd-inhibit systemd-cat "
    "dbus-run-session dbus-launch ssh-agent start-stop-daemon daemon daemonize tini dumb-init catatonit execlineb run-parts "
    "at batch sem crontab lxc incus machinectl toolbox distrobox vagrant busctl dbus-send gdbus "
    "run0 schroot arch-chroot pseudo nsjail minijail0 isolate singularity apptainer ch-run enroot runc crun ctr lxc-attach lxc-execute "
    "flatpak-spawn host-spawn pm2 forever honcho foreman overmind hivemind mpirun mpiexec orterun srun sbatch salloc qsub bsub torchrun "
    # Terminals and remote machines
    "script expect autoexpect tmux screen dtach abduco openvt rlwrap xterm uxterm lxterm x-terminal-emulator xvfb-run xinit "
    "startx ssh slogin rsh rexec autossh sshpass mosh socat ncat proxychains proxychains4 torsocks torify tsocks trickle "
    "sftp ftp lftp sshfs ssh-copy-id ansible openvpn telnet "
    "kitty alacritty konsole gnome-terminal wezterm foot urxvt rxvt zellij byobu tmate asciinema ttyrec ttyd gotty i3-msg swaymsg "
    "hyprctl xdotool pssh pdsh dsh clush sshuttle unison rdiff-backup rclone restic borg salt salt-call salt-ssh puppet ansible-console "
    "dhclient dhcpcd udhcpc pppd wpa_cli dnsmasq apache2 httpd apachectl uwsgi exim exim4 sendmail procmail fetchmail msmtp pass "
    # Debuggers and measurements
    "strace ltrace gdb gdbserver lldb valgrind rr uftrace heaptrack hyperfine perf time catchsegv faketime eatmydata "
    "bpftrace coredumpctl py-spy memray austin nsys ncu vtune rocprof kcov bear scan-build intercept-build checkinstall compiledb "
    # Many times, or on changes
    "xargs parallel env_parallel gxargs genv gtimeout gnice gnohup gstdbuf gchroot niceload rush xe watch watchexec entr nodemon chronic ifne mispipe lckdo flock fzf "
    # Runners of packages, and caches in front of compilers
    "npx pnpx bunx uvx direnv dotenv mise rtx aws-vault doppler ccache sccache distcc icecc libtool nix-shell bmake rpmbuild "
    "fnm volta devbox devenv op chamber envchain sops dotenvx env-cmd cross-env concurrently onchange dpkg-buildpackage debuild "
    "dpkg-architecture sbt nim crystal ocamlc ocamlopt ocamlfind "
    # Editors, and programs that read commands for a shell from their input
    "vi vim nvim rvim vimdiff view rview ex ed red emacs emacsclient nano pico joe kak hx mail mailx mutt dc m4 psql mysql mariadb "
    "gnuplot octave gs aria2c yt-dlp youtube-dl latexmk xdg-open run-mailcap duckdb sqlplus usql pgcli mycli mongo mongosh maxima gp sage "
    "scilab matlab gforth groff troff rename prename file-rename exiftool msgexec msgfilter dar afio mc ranger nnn vifm lf tig lazygit lynx "
    "w3m elinks feh blender gimp soffice libreoffice chromium chromium-browser google-chrome electron "
    # Languages whose scripts mostly stand in a word
    "R julia ghc ghci guile swipl sbcl clisp racket erl elixir iex ocaml groovy scala jshell deno "
    # Others that start what is in their words, or a program that an option names
    "debconf dpkg-reconfigure gpg-agent gpg-connect-agent gpgconf gpgtar gpgsm scriptlive systemd-socket-activate uclampset run-one "
    "run-this-one run-one-constantly run-one-until-success run-one-until-failure keep-one-running sensible-editor sensible-pager "
    "sensible-browser editor pager see edit compose pdb ipdb perldoc perlbug cpan git-shell bashbug lto-dump "
    # Load or run the file that they look at, or are asked to
    "ldd lddtree libtree insmod modprobe kmod jconsole jcmd jhsdb jrunscript "
    "perlthanks idle byebug irb pry jjs slsh hy bpython ptpython coffee utop janet fennel ecl gcl abcl scheme mit-scheme petite csi gosh bb "
    "clj clojure kotlin scala-cli amm jbang qjs d8 zx csharp fsharpi ghostscript gsc yaegi gore evcxr cling sml poly lfe littler r pforth "
    "bconsole crash debugfs tasksh pee zrun enosys pipesz coresched setpgid pexec multitime logsave setlock ksu runscript dtrace "
    "tset reset systemd-notify systemd-pty-forward systemd-vmspawn mount.fuse mount.fuse3 sshd plink psftp pscp rlogin cu uux minicom ncftp smbclient "
    "cadaver agetty alpine neomutt s-nail nail aerc certbot ansible-playbook ansible-pull ansible-test conjure "
    "gvim gview gvimdiff rgvim evim nvi elvis vile micro jed ne helix zile mg jove jmacs jstar rjoe jpico vigr vipw visudo "
    "pic gpic gtroff dvips mpost mtxrun context enscript a2ps ispell ncdu yazi broot dvtm terminator tilix xfce4-terminal lxterminal "
    "sakura ghostty aterm ptyxis buildah crictl limactl multipass k3s minikube docker-machine tsh infisical teller summon "
    # Other shells, and boxes of programs
    "busybox toybox sash csh tcsh fish nu pwsh xonsh elvish rc es command outlive".split()
)
# Programs that run nothing, whatever their words are
RUN_NOTHING = frozenset(
    ": [ test true false echo printf pwd cat tac rev ls dir vdir tree cp mv rm rmdir mkdir ln touch unlink link stat file wc head tail tr "
    "cut paste join comm uniq nl od xxd hexdump grep egrep fgrep zgrep zcat cmp diff md5sum sha1sum sha224sum sha256sum sha384sum "
    "sha512sum b2sum cksum sum basename dirname realpath readlink pathchk date cal df du free uptime uname arch nproc hostname whoami "
    "logname id groups users who w last ps pgrep pkill pidof kill killall sleep seq yes tee expr factor numfmt fold fmt expand unexpand "
    "shuf tsort truncate dd sync chmod chown chgrp mktemp mkfifo mknod which whereis whence where type whatis apropos jq column look "
    "lsof ss netstat ping dig host nslookup gzip gunzip bzip2 bunzip2 bzcat xz unxz xzcat zstd zstdcat unzip base64 base32 iconv "
    "dos2unix unix2dos locale getent lscpu lsblk lsusb lspci lsmod dmesg clear stty tty cd pushd popd dirs".split()
)

# Modules that `python -m` runs as the program of this name, and that run nothing that a word names
MODULES = frozenset(
    "pytest pip venv http.server json.tool unittest compileall py_compile mypy pylint ruff black isort flake8 pyflakes build "
    "ensurepip zipfile tarfile site sysconfig platform calendar bandit vulture codespell_lib uvicorn "
    "tox nox this".split()
)
