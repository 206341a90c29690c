"""What is known to run nothing else, of programs that can run another one.

A row has the names of programs, or of a program and its subcommand, and the words that run nothing:

    -abc      options of one letter; `-o:` takes a value, `-i?` one in the same word or none, `-m.` one
              that ends the options
    --name    a long option, never shortened; `--name=` takes the next word, unless its own has a `=`
    --no-*    a pattern of options
    words     options are words even with one dash (`-name`)
    +         the first operand ends the options: what follows belongs to it
    >         the first operand is a subcommand, which has a row of its own
    =name     the first operand, if there is one, is one of these; so are those before it that an option may have taken
    *         any word: no option of it names a program
    !name     a check of what else there is (runners.py)

A value in a word of its own that looks like an option is not known: the option before it may take none.
Everything is left out that names a program, a library, or a file with such options.
"""

from __future__ import annotations

import functools

from outlive.parts.policy.programs import harmless_git
from outlive.parts.policy.programs.use import Use

_INSTALLS = (
    "-hqvyDEGOPSBUgdsw -r? -c? -j? -e? -o? -t? -i? -f? -n? -w? --quiet --silent --verbose --version --help --yes --dev --group --extras --extra "
    "--all-extras --all-groups --with --without --only --sync --frozen --locked --offline --dry-run --requirement --editable "
    "--upgrade --upgrade-package --force --force-reinstall --global --save --save-dev --save-exact --production --omit --include "
    "--user --system --target --all --json --depth --prefix --dir --cwd --workspace --workspaces --if-present --frozen-lockfile "
    "--prefer-offline --ignore-scripts --legacy-peer-deps --loglevel --filter --recursive --latest --deploy --pre --index-url "
    "--extra-index-url --constraint --find-links --format --outdated --parseable --name --output --out-dir --directory "
    "--project --universal --resolution --seed --relocatable --long --immutable --check --audit-level --no-audit --no-fund --no-save "
    "--no-package-lock --no-progress --no-bin-links --no-color --no-cache --no-cache-dir --no-deps --no-build-isolation --no-input --no-dev "
    "--no-index --no-root --no-interaction --no-scripts --no-frozen-lockfile --no-lockfile --no-sync --no-install-project --no-editable --no-optional "
    "--no-immutable --no-compile --no-warn-script-location --no-plugins"
)
_SCRIPTS = "=test =t =start =build =lint =dev =format =typecheck =install =i =ci =add =remove =rm =uninstall =update =up =upgrade =list =ls =outdated =audit =why =info =view =pack"
_CC = (
    "words -o= -c -S -E -M -MM -MD -MMD -MP -MG -MF= -MT= -MQ= -I* -I= -L* -L= -l* -l= -D* -D= -U* -U= -include= -isystem= -iquote= "
    "-idirafter= -x= -O* -g -g[0-9g]* -Wall -Wextra -Wpedantic -Werror* -W[!lap]* -w -ansi -pedantic -pedantic-errors -std -pipe "
    "-pthread -shared -static -rdynamic -r -s -v -V -nostdlib -nostdinc -m32 -m64 -march -mtune -mcpu -arch= -target= -print-* "
    "-fPIC -fpic -fPIE -fpie -pie -no-pie -fopenmp -flto -fsanitize -fno-* -fstack-* -fvisibility -fdiagnostics-color "
    "-fsyntax-only -fwrapv -ffast-math -fcoverage-mapping -fprofile-instr-generate -fprofile-arcs -ftest-coverage --coverage "
    "-dumpversion -dumpmachine -version -help !compiler"
)
_FIND = (
    "words -H -L -P -name= -iname= -path= -ipath= -wholename= -iwholename= -regex= -iregex= -regextype= -lname= -ilname= -type= "
    "-xtype= -size= -mtime= -mmin= -atime= -amin= -ctime= -cmin= -newer= -anewer= -cnewer= -newermt= -newerat= -newerct= -user= "
    "-group= -uid= -gid= -perm= -links= -inum= -samefile= -fstype= -maxdepth= -mindepth= -empty -executable -readable -writable "
    "-nouser -nogroup -true -false -depth -d -mount -xdev -daystart -follow -noleaf -warn -nowarn -print -print0 -printf= "
    "-fprint= -fprint0= -ls -fls= -delete -prune -quit -not -and -or -a -o -version -help -used= -context= "
    "-ignore_readdir_race -files0-from= -E -x -s -f="
)
_TAR = (
    "-cxtruvzjJZaAdpPkmhSOUlnsGHiBoRw -f: -C: -X: -b: -N: -K: -g: -V: -H: -0123456789 --create --extract --get --list "
    "--append --update --concatenate --delete --diff --compare --gzip --gunzip --bzip2 --xz --lzma --zstd --lz4 --lzip --lzop "
    "--compress --auto-compress --verbose --file= --directory= --exclude= --exclude-from= --exclude-vcs --exclude-vcs-ignores "
    "--strip-components= --transform= --xform= --owner= --group= --mode= --mtime= --sort= --format= --numeric-owner "
    "--same-owner --same-permissions --preserve-permissions --keep-old-files --keep-newer-files --overwrite --skip-old-files "
    "--unlink-first --dereference --hard-dereference --one-file-system --absolute-names --wildcards --anchored --to-stdout "
    "--totals --verify --sparse --null --ignore-failed-read --listed-incremental= --newer= --after-date= --label= --xattrs --acls "
    "--selinux --touch --interactive --recursion --show-transformed-names --blocking-factor= --record-size= --starting-file= "
    "--full-time --ignore-zeros --posix --version --help --warning= --remove-files --no-recursion --no-same-owner "
    "--no-same-permissions --no-overwrite-dir --no-auto-compress --no-wildcards --no-ignore-case --no-xattrs --no-acls --no-selinux "
    "!archive"
)
_GO = (
    "words -v -x -n -a -o= -i -race "
    "-msan -cover -coverprofile= -covermode= -coverpkg= -count= -run= -bench= -benchmem -benchtime= -fuzz= -fuzztime= -timeout= -short -json -failfast "
    "-parallel= -cpu= -list= -skip= -shuffle= -tags= -mod= -p= -u -t -d -f -m -e -deps -find -export -test -trimpath -buildvcs -buildmode= -work -C= "
    "-cache -testcache -modcache -fuzzcache -r -all -src -c -cmd -short -changed"
)
_RUSTUP = (
    "-chqvt: --quiet --verbose --help --force --profile= --toolchain= --target= --component= --path= --nonexistent --installed "
    "--allow-downgrade --no-self-update --no-update --force-non-host"
)
_ROWS = {
    **harmless_git.ROWS,
    # Languages: a script in a file is like any program, one in a word or in the input may run anything
    "sh|bash|dash|ash|ksh|mksh|zsh|rbash|rksh|rzsh|ksh93|ksh2020|rksh93|lksh|oksh|loksh|pdksh|posh|yash|hush": "+ --version --help !script",
    "python|pypy|ipython": "+ -BEIOPSbdqsuvVhx -W: -X: -m. --version --help !script",
    "perl|raku": "+ -cfstTuUvVwWX --version --help !script",
    "ruby|jruby|truffleruby": "+ -cvwWU -W? --version --help !script",
    "node|nodejs": "+ -vch --version --help --check --test --test-only --test-name-pattern= --watch --trace-warnings --trace-deprecation --trace-uncaught --trace-exit --trace-gc --inspect --inspect-brk --enable-source-maps "
    "--max-old-space-size --stack-size --expose-gc --no-warnings --no-deprecation --experimental-vm-modules --experimental-strip-types --unhandled-rejections= !script",
    "php": "+ -vmilhnq -S: -t: --version --help !script",
    "lua|luajit|texlua": "+ -vW !script",
    "tclsh|wish": "+ !script",  # whatever the option: they read their input
    "Rscript|escript|ts-node|tsx|osascript": "+ --version --help --vanilla !script",
    "java": "+ words -jar -cp= -classpath= -class-path= -version -showversion -help -Xmx* -Xms* -Xss* -ea -da -server -D* -enable-preview -p= -module-path= !java",
    # What the words before another machine load is left out: -J, -processor, -doclet, -Xplugin, -provider
    "javac": "words -[!-JXp]* --[!p]* -p= -parameters -proc:none -Xlint* -Xdiags* -Xdoclint* -Xmax* !compiler",
    "javadoc": "words -[!-Jdt]* --[!dt]* -d= -doctitle= -tag= !compiler",
    "jar|javap|jdeps|jps|jstat|jmap|jstack|jinfo|jmod|jimage|jfr|serialver": "words -[!-J]* --[!J]* !compiler",
    "keytool|jarsigner|jlink|jpackage": "words -[!-Jap]* --[!p]* --add-modules= -alias= -printcert -protected !compiler",
    "kotlinc|scalac|groovyc": "words -d= -cp= -classpath= -include-runtime -jvm-target= -nowarn -deprecation -feature -version -help !compiler",
    "sed|gsed": "-nErsuzb -e: -i? -l: --quiet --silent --expression= --regexp-extended --in-place --line-length= --null-data "
    "--separate --unbuffered --sandbox --posix --debug --follow-symlinks --binary --help --version !sed",
    "awk|gawk|mawk|nawk|original-awk": "+ -bcCMNnOPrSsth -F: -v: --field-separator= --assign= --csv --posix --traditional --re-interval "
    "--sandbox --version --help !awk",
    "sqlite|sqlite3": "-header -noheader -csv -json -column -line -list -markdown -table -box -html -tabs -ascii -batch -bail -readonly "
    "-echo -safe -version -help words -separator= -nullvalue= !sql",
    # Files, and the terminal: its description names a program that `tput init` runs, also behind another word
    "tput": ">",
    "tput cols|tput lines|tput colors|tput clear|tput sgr0|tput bold|tput smcup|tput rmcup|tput civis|tput cnorm": "=",
    "find|gfind|bfs": _FIND,
    "fd|fdfind": "-0HILFagilpqsu1 -d: -t: -e: -E: -S: -j: -c: -o: --hidden --no-* --unrestricted --case-sensitive --ignore-case --glob "
    "--regex --fixed-strings --absolute-path --follow --full-path --print0 --max-depth= --min-depth= --exact-depth= --type= "
    "--extension= --exclude= --size= --changed-within= --changed-before= --owner= --max-results= --color= --threads= --quiet "
    "--list-details --search-path= --base-directory= --strip-cwd-prefix --and= --prune --one-file-system",
    "tar|gtar": _TAR,
    "bsdtar": f"{_TAR} -gHKLNV -s:",
    "cpio": "-0ABLVabcdiklmnoprtuv -C: -E: -H: -M: -R: --create --extract --list --pass-through --verbose --make-directories "
    "--preserve-modification-time --unconditional --null --format= --quiet --no-* !archive",
    "rsync": "-0468ACDHIJKLOPRSUWXabcdghiklmnopqrstuvxyz -B: -T: -f: --archive --verbose --quiet --recursive --relative --backup "
    "--backup-dir= --suffix= --update --inplace --append --append-verify --dirs --links --copy-links --copy-unsafe-links --safe-links "
    "--copy-dirlinks --keep-dirlinks --hard-links --perms --executability --chmod= --acls --xattrs --owner --group --devices --specials "
    "--times --omit-dir-times --omit-link-times --super --sparse --preallocate --dry-run --whole-file --checksum --checksum-choice= "
    "--one-file-system --block-size= --existing --ignore-existing --remove-source-files --delete --del --delete-before "
    "--delete-during --delete-delay --delete-after --delete-excluded --ignore-errors --force --max-delete= --max-size= --min-size= "
    "--partial --partial-dir= --delay-updates --prune-empty-dirs --numeric-ids --usermap= --groupmap= --chown= --timeout= "
    "--contimeout= --ignore-times --size-only --modify-window= --temp-dir= --fuzzy --compare-dest= --copy-dest= --link-dest= --compress "
    "--compress-level= --compress-choice= --skip-compress= --cvs-exclude --filter= --exclude= --exclude-from= --include= --include-from= "
    "--files-from= --from0 --port= --stats --8-bit-output --human-readable --progress --itemize-changes --out-format= --log-file= "
    "--log-file-format= --list-only --bwlimit= --info= --debug= --mkpath --version --help --ipv4 --ipv6 --no-*",
    "scp": "-346BCOTpqrv -P: -i: -l: -c: -X:",
    "sort|gsort": "-bdfgiMhnRrVcCmsuz -k: -S: -t: -T: -o: --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort "
    "--ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --sort= --version-sort --batch-size= "
    "--check --debug --files0-from= --key= --merge --output= --stable --buffer-size= --field-separator= --temporary-directory= "
    "--parallel= --unique --zero-terminated --random-source= --help --version",
    "split|gsplit": "-0123456789deux -a: -b: -C: -l: -n: -t: --suffix-length= --additional-suffix= --bytes= --line-bytes= --numeric-suffixes "
    "--hex-suffixes --elide-empty-files --lines= --number= --separator= --unbuffered --verbose --help --version -x",
    "install|ginstall": "-bcCdDpsTvZ -g: -m: -o: -S: -t: --backup --compare --directory --group= --mode= --owner= --preserve-timestamps "
    "--strip --suffix= --target-directory= --no-target-directory --verbose --preserve-context --help --version",
    "sdiff": "-iEZbWBatdHlsv -I: -w: --ignore-case --ignore-tab-expansion --ignore-trailing-space --ignore-space-change --ignore-all-space "
    "--ignore-blank-lines --ignore-matching-lines= --strip-trailing-cr --text --width= --left-column --suppress-common-lines "
    "--expand-tabs --tabsize= --minimal --speed-large-files --help --version",
    "diff3": "-AeExX3imaTv -L: --show-all --ed --show-overlap --easy-only --merge --text --strip-trailing-cr --initial-tab --label= --help",
    "patch": "-bcEflNnRstTuvZ -p: -d: -i: -o: -F: -V: -Y: -z: -B: -r: --dry-run --forward --reverse --input= --strip= --directory= --output= "
    "--quiet --silent --backup --batch --force --fuzz= --unified --context --normal --remove-empty-files --ignore-whitespace --binary "
    "--verbose --reject-file= --merge --no-* --help --version",
    "zip": "-0123456789ADFJLRSUXZbcdefghijklmnoqrstuvwxyz@ --exclude --include --recurse-paths --junk-paths --quiet --update --freshen "
    "--move --test --symlinks --encrypt --no-*",
    "rg": "-0.ijacFHILNPSUVhlnopqsuvwxz -A: -B: -C: -E: -M: -T: -d: -e: -f: -g: -j: -m: -r: -t: --files --hidden --glob= --iglob= --type= "
    "--type-not= --type-list --count --count-matches --json --stats --sort= --sortr= --max-count= --max-depth= --max-columns= "
    "--max-filesize= --context= --after-context= --before-context= --files-with-matches --files-without-match --fixed-strings "
    "--ignore-case --case-sensitive --smart-case --word-regexp --line-regexp --invert-match --line-number --column --heading --color= "
    "--colors= --multiline --multiline-dotall --pcre2 --only-matching --replace= --regexp= --file= --text --trim --unrestricted --quiet "
    "--passthru --vimgrep --with-filename --null --follow --ignore-file= --search-zip --pre-glob= --encoding= --threads= --glob-case-insensitive "
    "--max-columns-preview --pretty --version --help --debug --one-file-system --no-*",
    "ag|ack": "-HLQSUacilnorsuvwz -A? -B? -C? -G: -m: --hidden --nocolor --ignore= --smart-case --ignore-case --literal --word-regexp --count --files-with-matches --context --max-count= --depth= --no-*",
    "bat|batcat": "-Apnufh -l: -r: -H: -m: --style= --paging= --color= --decorations= --plain --language= --line-range= --highlight-line= "
    "--number --show-all --theme= --wrap= --tabs= --list-languages --list-themes --version --help",
    "less": "-aABcCdeEfFgGiIKLmMnNqQrRsSuUVwWX~ -j? -x? -z? -h? -y? --no-* --quit-if-one-screen --RAW-CONTROL-CHARS --chop-long-lines !pages",
    "man|apropos|whatis": "-acdfiIkKuwW7 -s: -S: -L: -E: --all --apropos --whatis --where --path --sections= --locale= --regex --wildcard "
    "--names-only --ignore-case --match-case --encoding= --no-* --version --help",
    "convert|magick|mogrify|identify|composite|montage|import|display|animate|compare|stream|gm|sox|play|rec": "words -* !image",
    "pandoc": "-siv -o: -V: -M: -T: --output= --standalone --toc --toc-depth= --number-sections --wrap= --columns= "
    "--metadata= --variable= --self-contained --embed-resources --extract-media= --list-* --version --help",
    # Compilers and build tools
    "gcc|g++|cc|c++|clang|clang++|gfortran|c89|c99|cpp|nvcc|icc|icx|mpicc|mpicxx|mpic++|emcc|em++|tcc|musl-gcc": _CC,
    "ld|ld.gold|ld.lld|ld.bfd": "words -o= -l* -l= -L* -L= -d -E -g -M -n -N -q -r -s -S -v -V -x -X -O* -e= -m= -h= -u= -y= -z= -soname= -rpath= -dynamic-linker= "
    "-Map= -static -shared -pie -no-pie -nostdlib -Bstatic -Bdynamic -export-dynamic -gc-sections -whole-archive -no-whole-archive -as-needed "
    "-no-as-needed -start-group -end-group -build-id -print-map -strip-all -strip-debug -no-undefined -eh-frame-hdr -hash-style -version -help !compiler",
    "rustc": "-OgVvh -o: -A: -W: -D: -F: -L: -l: --edition= --crate-type= --crate-name= --test --emit= --print= --cfg= --version --help --explain= !compiler",
    "make|gmake": "-BdhikLnqrRstvwS -C: -f: -I: -o: -W: -j? -l? -O? --directory= --file= --makefile= --include-dir= --jobs --keep-going "
    "--silent --quiet --always-make --dry-run --just-print --recon --print-directory --question --touch --trace --output-sync "
    "--warn-undefined-variables --print-data-base --debug --max-load --load-average --old-file= --what-if= --ignore-errors --no-* "
    "--version --help -p !make",
    "ninja|samu": "-nvh -C: -d: -f: -j: -k: -l: --version --quiet !input",
    "cmake": "-LANh -S: -B: -G: -D: -U: -j? -W? --build= --target= --config= --parallel --install= --prefix= --component= --preset= --fresh --verbose "
    "--clean-first --list-presets --version --help --log-level= -t: !cmake",
    "ctest": "-NVhQF -C: -E: -I: -L: -R: -j? --output-on-failure --test-dir= --rerun-failed --verbose --extra-verbose --parallel --timeout= "
    "--build-config= --quiet --progress --stop-on-failure --repeat= --output-junit= --preset= --show-only --version --help --tests-regex= "
    "--exclude-regex= --label-regex= --no-*",
    "cargo": "=build =b =check =c =test =t =run =r =bench =clippy =fmt =doc =d =clean =update =add =remove =rm =tree =metadata =fetch =search "
    "=init =new =publish =package =vendor =version =install =uninstall =help =locate-project =pkgid =generate-lockfile "
    "-hqvVr -p? -j? -F? --release --all --workspace --exclude --package --features --all-features --target --lib --bins --bin "
    "--example --examples --tests --test --benches --bench --all-targets --doc --jobs --locked --offline --frozen --verbose --quiet "
    "--message-format --color --manifest-path --allow-dirty --allow-staged --fix --dev --build --dry-run --profile --check --version "
    "--help --path --git --branch --rev --tag --force --keep-going --edition --name --depth --invert --prefix --format-version "
    "--ignore-rust-version --timings --no-*",
    "go": "> -version -help words -C=",
    "go build|go test|go vet|go install|go get|go list|go clean|go generate|go fmt|go doc|go env|go version|go fix": _GO,
    "go run": f"+ {_GO} !package",
    "go mod|go work": "words -v -x -json -compat= -go= =tidy =download =verify =why =graph =vendor =init =sync =use",
    "mvn|mvnw": "words -q -B -o -U -e -X -am -amd -N -ntp -pl= -P* -P= -f= -T= -T* -fae -ff -v -V -version -DskipTests -Dtest -Dmaven.test.skip -Dit.test !goals "
    "=clean =compile =test =package =verify =install =validate =site",
    "gradle|gradlew": "-qisdmhv -x: -p: -P: --info --stacktrace --parallel --offline --continue --tests= --rerun-tasks --refresh-dependencies --console= "
    "--warning-mode= --dry-run --stop --status --version --build-cache --daemon --no-*",
    "configure": "words -[!-c]* -c[!a]* --[!c]* --c[!a]* !make",  # the file of --cache-file is a script
    "meson": "=setup =compile =test =install =configure =introspect -vh -C: -j: --buildtype --prefix --list --print-errorlogs --version --help",
    "bazel|bazelisk": "=build =test =query =info =clean =version =fetch -ks -c: --config --test_output --jobs --keep_going",
    "just": "-lnqvu -f: --list --dry-run --summary --quiet --version --help !just",
    "rake": "-TPWnqsvtV -f: --tasks --dry-run --quiet --trace --version --help !input",
    "stack|cabal": "=build =test =setup =clean =install =new =update =init --fast --pedantic --version --help -v -j?",
    "dune": "=build =test =runtest =clean =fmt -w --watch --root --version --help",
    "mix|lein": "=test =compile =deps.get =deps =deps.compile =format =phx.server =ecto.migrate =uberjar --trace --force --only --version --help",
    "dotnet": "=build =test =run =restore =publish =new =add =clean =pack =list -c: -f: -o: -v: --configuration= --framework= --output= --verbosity= --no-* --version "
    "--info --list-sdks --help --filter !goals",
    "swift": "=build =test =run =package -cv --configuration --verbose --version --help",
    "latex|pdflatex|xelatex|lualatex|tex|pdftex|luatex|xetex": "words -interaction -halt-on-error -output-directory -file-line-error -jobname -draftmode -synctex "
    "-version -help -no-shell-escape !pages",
    # Packages
    "npm": f"{_SCRIPTS} =run =run-script =publish =version =prune =root =prefix =bin =whoami =ping =search =dedupe =fund =link =cache "
    f"{_INSTALLS} --tag --access --registry -w: -C: --prefix= --workspace= !scripts",
    "yarn": f"{_SCRIPTS} =run =licenses =cache =import =dedupe {_INSTALLS} --cwd= !scripts",
    "pnpm": f"{_SCRIPTS} =run =licenses =import =prune =dedupe =store {_INSTALLS} -C: -F: --dir= --filter= !scripts",
    "bun": "=install =i =add =remove =rm =test =update =outdated =pm =build -DEOdfghvy -t: --cwd= --outdir= --outfile= --target= --timeout= --watch --coverage "
    "--global --dev --exact --production --frozen-lockfile --force --dry-run --silent --verbose --minify --version --help --no-*",
    "pip": f"=install =uninstall =list =show =freeze =check =download =wheel =search =index =cache =debug =hash =help {_INSTALLS}",
    "uv": f"=pip =sync =lock =add =remove =init =venv =build =publish =tree =cache =version =self =help =export {_INSTALLS} --directory= --project=",
    "poetry|pipenv|pipx|pdm|rye|hatch": f"=install =uninstall =add =remove =update =upgrade =lock =sync =show =list =build =check =version =publish =init =graph =export {_INSTALLS} -C: --directory=",
    "bundle|bundler": f"=install =update =check =list =outdated =add =remove =lock =info =show =clean {_INSTALLS}",
    "conda|mamba|micromamba": f"=list =install =create =remove =update =search =info =env =clean =activate {_INSTALLS} -n: -p: --name= --channel",
    "composer": f"=install =require =update =remove =show =dump-autoload =validate =outdated {_INSTALLS}",
    "gem": f"=install =list =uninstall =update =search =build =push =info {_INSTALLS}",
    "rbenv|pyenv|nodenv|goenv|jenv": "=versions =version =local =global =install =which =whence =rehash =root =prefix -l --list --version --help",
    "opam": "=install =list =update =upgrade =switch =show -y --yes --version --help",
    "asdf": "=list =current =install =where =which =latest =reshim =local =global =version",
    "rustup": "> -hqvV --version --help",
    "|".join(f"rustup {verb}" for verb in "show update target component default override check self".split()): _RUSTUP,
    "rustup toolchain": f"=list =install =uninstall =add =remove =update =upgrade {_RUSTUP}",
    "nix": "> --version --help",
    "nix build|nix flake|nix search|nix eval|nix store|nix path-info|nix profile|nix registry|nix log|nix hash": "-Lhvq --json --impure --offline --refresh "
    "--no-* --print-build-logs --out-link --raw --dry-run",
    "flatpak|snap": "=list =install =info =search =update =refresh =remove =uninstall =find =history -ivyh --user --system --app --classic --columns=",
    "apt|apt-get|aptitude|apt-cache": "-adfmqsuvyV -t: --yes --assume-yes --quiet --simulate --dry-run --just-print --fix-broken --purge --reinstall "
    "--only-upgrade --download-only --target-release= --allow-downgrades --allow-change-held-packages --autoremove --auto-remove --installed "
    "--upgradable --all-versions --install-recommends --install-suggests --print-uris --version --help --no-*",
    "dpkg|dpkg-deb|dpkg-query": "-CILPRSVWXabcefilprsux --list --listfiles --status --search --info --contents --install --remove --purge "
    "--configure --unpack --print-architecture --print-foreign-architectures --add-architecture --get-selections --verify --audit --build --extract "
    "--show --showformat= --version --help --compare-versions --no-*",
    "rpm": "-qailfpcdVevhUFRsv --query --all --info --list --file --package --install --upgrade --erase --verify --requires --provides --changelog "
    "--qf= --queryformat= --nodeps --version --help --last --scripts --test --import --checksig",
    # Containers
    "docker|podman|nerdctl": "> -Dvh -H: -c: -l: --host= --context= --log-level= --debug --version --help",
    "|".join(
        f"{program} {verb}"
        for program in ("docker", "podman", "nerdctl")
        for verb in "ps images pull push logs inspect stop start restart rm rmi tag version info login logout network volume cp kill top stats "
        "port history search events wait pause unpause diff save load import export rename update commit".split()
    ): "-Iadfhilnopqstuv --all --quiet --filter --format --latest --follow --tail --since --until --timestamps --force --time --size --last "
    "--sort --digests --tag --signal --volumes --username --password-stdin --password --platform --driver --name --label --input --output --type "
    "--message --author --change --human --interval --no-* --help",
    "docker system|podman system|nerdctl system": "=df =info =prune =events -afv --all --force --volumes --verbose --filter= --format= --since= "
    "--until= --help",
    "docker build|podman build|nerdctl build|docker buildx build": "-q -t: -f: -o: --tag= --file= --build-arg= --target= --platform= --no-cache "
    "--pull --progress= --label= --rm --force-rm --push --load --output= --cache-from= --cache-to= --secret= --ssh= --network= --iidfile= --quiet "
    "--builder= !input",
    "docker compose|podman compose|docker-compose|docker container|docker buildx": "> -f: -p: --file= --project-name= --profile= "
    "--env-file= --project-directory= --ansi= --progress= --version --help -v -h !input",
    "docker buildx bake": "-f: --file= --set= --builder= --progress= --print --push --load --pull --no-cache !input",
    "|".join(
        f"{program} {verb}"
        for program in ("docker compose", "podman compose", "docker-compose", "docker container", "docker buildx")
        for verb in "up down ps logs build pull push stop start restart rm config images top kill events ls port version pause unpause wait "
        "inspect stats prune rename du imagetools use".split()
        if (program, verb) != ("docker buildx", "build")
    ): "*",
    "kubectl|oc": "=get =describe =logs =apply =delete =create =version =top =explain =rollout =scale =api-resources =api-versions =cluster-info =label "
    "=annotate =wait =auth =patch =set =expose =cordon =uncordon =drain =taint =cp =port-forward -AhRLw -n: -o: -l: -k: -c: -p? -f? --namespace= --output= "
    "--selector= --all-namespaces --watch --filename= --kustomize= --container= --tail= --since= --follow --previous --context= --cluster= --all "
    "--replicas= --timeout= --for= --dry-run --sort-by= --show-labels --field-selector= --wait --force --grace-period= --ignore-not-found --recursive "
    "--server-side --image= --type= --patch= --help --no-headers --client !dashes",
    "helm": "=list =ls =template =install =upgrade =uninstall =status =get =repo =lint =search =show =history =rollback =version =dependency -aihq -n: -f: -o: "
    "--namespace= --values= --set= --install --create-namespace --wait --timeout= --version --dry-run --atomic --all --output= --help",
    # Network and the machine
    "curl": "-#0123468BGIJLMNORSZafgijklnpqsv -A: -b: -c: -C: -d: -D: -e: -E: -F: -H: -m: -o: -r: -T: -u: -U: -w: -x: -X: -y: -Y: -z: -t: --silent "
    "--show-error --fail --fail-with-body --fail-early --location --location-trusted --include --head --output= --output-dir= --remote-name "
    "--remote-name-all --remote-header-name --create-dirs --data= --data-raw= --data-binary= --data-urlencode= --data-ascii= --json= --form= "
    "--form-string= --header= --request= --user= --user-agent= --cookie= --cookie-jar= --referer= --insecure --cacert= --capath= --cert= --key= "
    "--compressed --get --url= --url-query= --upload-file= --max-time= --connect-timeout= --retry= --retry-delay= --retry-max-time= "
    "--retry-all-errors --retry-connrefused --continue-at= --range= --limit-rate= --proxy= --noproxy= --resolve= --connect-to= --interface= "
    "--unix-socket= --write-out= --dump-header= --verbose --trace= --trace-ascii= --trace-time --progress-bar --no-* --http1.0 --http1.1 --http2 "
    "--http3 --tlsv1 --tlsv1.0 --tlsv1.1 --tlsv1.2 --tlsv1.3 --tls-max= --ciphers= --ipv4 --ipv6 --parallel --parallel-max= --max-redirs= "
    "--max-filesize= --post301 --oauth2-bearer= --digest --basic --ntlm --negotiate --anyauth --version --help",
    "openssl": ">",
    "|".join(f"openssl {verb}" for verb in "asn1parse ca ciphers cms crl crl2pkcs7 dgst dhparam dsa dsaparam ec ecparam enc errstr genpkey "
    "genrsa help info list md5 nseq ocsp passwd pkcs12 pkcs7 pkcs8 pkey pkeyparam pkeyutl prime rand rehash req rsa rsautl s_client "
    "s_server s_time sess_id sha1 sha256 sha384 sha512 smime speed spkac storeutl ts verify version x509 aes-256-cbc base64".split()):
    "words -[abdfghijlmnoqrtuvwxyzACDEIKPSVX0-9]* -k -k[!e]* -key -key[!g]* -s -s[!s]* -cert -certfile -connect -checkend -checkhost -check -clcerts -cacerts -cipher "
    "-ciphersuites -c -enddate -email -ext -extensions -extfile -e -encrypt -export -passin -passout -pass -pubkey -pubin -pubout -port -purpose "
    "-pkeyopt -proxy -prexit -pbkdf2 -p -curves -challenge",  # no values: those differ between verbs
    "nm|gcc-nm": "-AaBCDegfnopPrsSuUvVW -t: -f: --demangle --dynamic --extern-only --no-* --numeric-sort --defined-only --undefined-only --size-sort "
    "--line-numbers --debug-syms --format= --version --help !compiler",
    "strip|objcopy|objdump|size": "words -[!-]* --[!p]* --pad-to= --prefix* --preserve-dates --private* --process-links !compiler",
    "ar|gcc-ar|ranlib|gcc-ranlib": "-abcdDfhHimMNoOPqrsStTuUvVx --target= --thin --output= --version --help !compiler",
    "prove": "-bcDfhHlmopqQrsTtvwW -j: -I: --verbose --lib --blib --color --count --directives --failures --comments --fork --ignore-exit --merge "
    "--jobs= --shuffle --recurse --reverse --quiet --QUIET --parse --timer --trap --norc --version --help --man --dry --no-* !input",
    "wget": "-cqSNrmkpKLHnvdbhF46EVx -O: -P: -o: -a: -i: -t: -T: -U: -w: -l: -A: -R: -D: -Q: --output-document= --directory-prefix= --continue --quiet "
    "--timestamping --recursive --level= --no-* --mirror --convert-links --page-requisites --header= --user-agent= --timeout= --tries= --wait= "
    "--spider --method= --body-data= --post-data= --post-file= --user= --password= --server-response --progress= --show-progress --limit-rate= "
    "--content-disposition --max-redirect= --accept= --reject= --input-file= --output-file= --https-only --version --help -n",
    "tcpdump": "-ABDHIKLNOSUXbdefhlnpqtuvx# -B: -c: -C: -E: -F: -G: -i: -j: -m: -M: -Q: -r: -s: -T: -w: -W: -y:",
    "nc|netcat": "-46CDFUhklnNrtuvz -i: -I: -m: -M: -O: -p: -P: -q: -s: -T: -V: -w: -W: -x: -X:",
    "ip": "words -4 -6 -br -brief -c -color -s -stats -statistics -d -details -o -oneline -j -json -p -pretty -h -human -r -resolve -t -V -N -f= -family= "
    "=a =addr =address =l =link =r =ro =route =n =neigh =neighbor =neighbour =ru =rule =maddr =maddress =mroute =tunnel =monitor =help",
    "iptables|ip6tables": "-FLSXZnvx -A: -D: -I: -R: -N: -P: -t: -j: -p: -s: -d: -i: -o: -m: --dport= --sport= --dports= --state= --ctstate= --comment= "
    "--to-destination= --line-numbers --list --reject-with= --version --help",
    "ssh-add": "-lLDdkqTvxX -t: -E:",
    "gpg|gpg2": "-aekKqsbvd -o: -r: -u: --armor --verify --import --export --list-keys --list-secret-keys --fingerprint --batch --yes --output= --decrypt "
    "--encrypt --sign --clearsign --detach-sign --detach-sig --recipient= --local-user= --recv-keys --keyserver= --quick-add-uid --delete-keys "
    "--dearmor --show-keys --with-colons --trust-model= --import-ownertrust --version --help --no-*",
    "ssh-keygen": "-ABceHlqvyph -t: -f: -N: -C: -b: -P: -R: -F: -m: -E: -i -I: -s: -n: -V: -z: -a: -r: -Y: -k -Q -L",
    "gh": "=pr =issue =release =run =workflow =api =auth =search =status =gist =label =repo =secret =variable =cache =ruleset =project -* !dashes",
    "svn": "=status =st =diff =di =log =update =up =checkout =co =commit =ci =add =info =ls =list =cat =blame =revert =delete =rm =mkdir =move =mv =copy =cp "
    "=switch =sw =cleanup =resolve =export =import =propget =proplist =help -qvNuRg -r: -m: -c: -l: -F: -xwb --quiet --verbose --revision= --message= "
    "--change= --limit= --force --username= --password= --non-interactive --no-* --depth= --xml --stop-on-copy --summarize --version --help",
    "hg": "=status =st =diff =log =add =addremove =commit =ci =pull =push =update =up =branch =branches =bookmarks =tags =heads =tip =parents =summary =cat "
    "=annotate =blame =revert =remove =rm =rename =mv =copy =cp =init =identify =id =paths =manifest =outgoing =incoming =version =help =resolve =merge =rebase "
    "=graft =purge =forget =files -ABCGIPRUXabcdgilmnpqrsuvy --rev --message --repository --cwd --branch --user --date "
    "--git --stat --graph --limit --template --verbose --quiet --noninteractive --addremove --amend --all --no-*",
    # Checkers that run an interpreter
    "flake8": "-qvhj: --quiet --verbose --count --select= --ignore= --extend-ignore= --extend-select= --max-line-length= --max-doc-length= "
    "--max-complexity= --exclude= --extend-exclude= --filename= --statistics --show-source --no-show-source --format= --exit-zero --color= "
    "--jobs= --version --help --per-file-ignores= --isolated --benchmark --output-file= --tee --indent-size= --hang-closing",
    "http.server": "-hb:d:p: --bind= --directory= --protocol= --help",
    "mypy": "-vhV -p: -m: -c: -n: --strict --ignore-missing-imports --install-types --non-interactive --python-version= --cache-dir= "
    "--show-error-codes --pretty --follow-imports= --package= --module= --exclude= --explicit-package-bases --namespace-packages --platform= --warn-* "
    "--disallow-* --check-untyped-defs --no-* --version --help --color-output --show-* --enable-error-code= --disable-error-code= --junit-xml= --verbose !compiler",
    "dmypy": "=run =check =status =stop =start =restart =recheck -vqhV --version --help --verbose --quiet !pytest",
    # Its own options, and those of well-known plugins: another plugin may bring one that names a program
    "pytest|py.test": "-hvqxsl -k: -m: -r? -n: -p: -W: --help --version --verbose --verbosity --quiet --exitfirst --maxfail --lf --last-failed --ff --failed-first "
    "--nf --new-first --lfnf --last-failed-no-failures --sw --stepwise --stepwise-* --sw-* --fixtures --fixtures-per-test --funcargs --markers --runxfail "
    "--showlocals --no-showlocals --no-header --no-summary --no-fold-skipped --force-short-summary --show-capture --full-trace --xfail-tb --code-highlight "
    "--color= --tb= --capture= --durations* --junit-* --junitxml --strict --strict-* --rootdir --basetemp --confcutdir --noconftest --keep-duplicates "
    "--collect-only --co --collect-in-virtualenv --continue-on-collection-errors --count= --pyargs --ignore --ignore-glob --deselect= --import-mode "
    "--disable-warnings --disable-pytest-warnings --pythonwarnings --doctest-* --debug --trace-config --setup-* --assert --log-* --cache-* "
    "--dist= --numprocesses --maxprocesses --cov --cov-report --cov-branch --cov-fail-under --cov-append --no-cov --timeout* --reruns* --only-rerun "
    "--asyncio-mode --hypothesis-* --randomly-* --benchmark-only --benchmark-skip --benchmark-disable --snapshot-update --html --self-contained-html "
    "--profile !pytest",
    "unittest": "-vqfbchl -k: -s: -p: -t: --verbose --quiet --failfast --buffer --catch --locals --durations= --help !tests",
    "uvicorn|hypercorn": "-h --reload --reload-dir= --factory --host= --port= --workers= --log-level= --no-* --proxy-headers --app-dir= --env-file= --uds= "
    "--root-path= --ssl-keyfile= --ssl-certfile= --access-log --lifespan= --backlog= --timeout-keep-alive= --limit-concurrency= --version --help !app",
    "gunicorn": "-DRhv -w: -b: -t: -n: -p: -u: -g: -k: --bind= --workers= --worker-class= --timeout= --threads= --reload --log-level= --access-logfile= "
    "--error-logfile= --preload --name= --pid= --daemon --chdir= --keep-alive= --max-requests* --version --help --no-* !app",
    "flask": "=run =routes =db -A: --app= --debug --version --help -h -p: --host= --port= --no-* --reload !app",
    "django-admin": "=runserver =migrate =makemigrations =startproject =startapp =test =check =collectstatic =createsuperuser =version -v: --settings= "
    "--verbosity= --no* --fake --fake-initial --parallel --keepdb --dry-run --plan --version --help",
    "celery": "=worker =beat =status =inspect =control =purge =report =events -A: -B -E -Q: -c: -l: -n: -P: --app= --loglevel= --concurrency= --queues= --pool= --version --help !app",
    "rails": "=server =s =test =t =generate =g =destroy =routes =new =about =stats =notes =assets:precompile -b: -p: -e: -h --version --help --environment= --port= "
    "--binding= --skip-* --api --force --pretend --verbose",
    "pylint": "-EvhrsyE -d: -e: -f: -j: -r: -s: --disable= --enable= --errors-only --output-format= --jobs= --score= --reports= --ignore= "
    "--fail-under= --fail-on= --recursive= --msg-template= --max-line-length= --version --help --output= --py-version= !dashes",
    "tox|nox": "=run =r =run-parallel =p =list =l -rqvphlR -e: -s: -f: --version --recreate --list --parallel --sessions= --reuse-existing-virtualenvs --notest",
}  # fmt: skip


@functools.cache
def _rows() -> dict[str, str]:
    return {name: row for names, row in _ROWS.items() for name in names.split("|")}


@functools.cache
def use_of(name: str) -> Use | None:
    """Return the row of a program, or of a program and its subcommand; None if there is none."""
    row = _rows().get(name)
    return None if row is None else Use(row)
