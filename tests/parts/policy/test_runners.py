"""Which commands may run another program, and which everyday ones are known to run none."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from outlive import config
from outlive.parts.policy import commands_in, decide
from outlive.parts.policy.programs import runners
from outlive.parts.policy.rules import Surroundings
from outlive.parts.policy.settings import policy_of

# One command a line, quoted as for a shell
MAY_RUN = r"""
debconf touch x
gpg-agent --homedir h --daemon touch x
scriptlive -c 'touch x' -t t f
prove --exec 'touch x' t
prove -e 'touch x' t
prove -P evil t
openssl dgst -engine ./x.so f
openssl dgst --engine ./x.so f
openssl s_client -ssl_client_engine ./x.so
openssl s_client --ssl_client_engine=./x.so
openssl s_server -ssl_config x
openssl engine ./x.so
openssl req -config evil.cnf
openssl x509 -provider x -in f
gpgtar --gpg ./x -c f
curl --engine ./x.so u
curl --eng ./x.so u
curl -K evil u
curl --config evil u
nm --plugin ./x.so f
nm --plug=./x.so f
ar --plugin ./x.so t f
sensible-editor f
systemd-socket-activate -l 1 touch x
uclampset -m 0 touch x
podman ps --runtime=./touch
podman container start --runtime=./touch x
podman start --conmon ./touch x
nerdctl ps --cni-path=x
docker ps --config evil
perl5.36-x86_64-linux-gnu -e x
python3.11-dbg -c x
pypy3.10 -c x
vim.basic -c x f
nc.traditional -e touch h 1
nc.openbsd -e touch h 1
bash-static -c x
fakeroot-sysv touch x
sudo-rs touch x
gdb-multiarch f
aarch64-linux-gnu-ld -plugin x.so a.o
bash stdin
bash ../fd/0
python3 0
make -f stdin
python3 -m django shell -c x
yarn --cwd d exec touch
git --git-dir=evil status
git --git-dir evil status
git --bare status
git config pull.twohead touch
srun touch x
mpirun -n 1 touch x
sbatch --wrap=touch
rclone ls :sftp,ssh=touch:x
restic -o sftp.command=touch ls
msmtp --passwordeval=touch x
exim -be '${run{touch}}'
rename s/a/b/e f
exiftool -if 'system("touch")' f
./configure CC=touch
./configure --cache-file=evil.sh
./configure --cache=evil.sh
./configure --prefix=/usr 'CC=./touch'
meson devenv touch
meson test --wrapper=touch
bazel run --run_under=touch //x
bazel run //x
bazelisk run @other//cmd:x -- touch x
npm run env -- touch x
npm run-script env touch x
yarn run env touch x
pnpm run env touch x
go run example.com/x@latest touch x
go run golang.org/x/tools/cmd/x
go run -v cmd/x
ldd ./x
svn checkout svn+evil://h/x
svn log svn+x.y://h
svnmucc cp HEAD svn+evil://h/x svn+evil://h/y
git submodule add 'ext::touch x'
newtool --repo=ext::touch
newtool git+ext::touch
python3 -W error::mod.X x.py
python3 -Werror::mod.X -m pytest
python3 -bW 'error:a:mod.sub.X:b:1' -m json.tool f
python3 -X presite=mod x.py
python3 -Xpycache_prefix=./p -m pytest
javac -processor x.Evil X.java
javac -processorpath ./p X.java
javac --processor-path=./p X.java
javac --processor-module-path p X.java
javac -Xplugin:Evil X.java
javac -J-agentpath:./x.so X.java
javac @words X.java
javadoc -doclet x.Evil X.java
javadoc -docletpath p -taglet x X.java
javadoc -J-javaagent:x.jar X.java
jar -J-agentpath:./x.so -tf x.jar
javap -J-javaagent:x.jar X
jdeps -J-agentlib:x x.jar
keytool -list -providerpath p -providerclass x.Evil
jarsigner -J-agentpath:./x.so x.jar k
jlink --plugin-module-path p --output o
kotlinc -Xplugin=x.jar X.kt
kotlinc -J-agentpath:./x.so X.kt
scalac -Xplugin:x.jar X.scala
jcmd 1 JVMTI.agent_load ./x.so
strip --plugin ./x.so f
objcopy --plug=./x.so f g
size --plugin=./x.so f
objdump --plugin ./x.so f
strip @words f
bazel test --run_under touch //x
just --shell touch x
just -c touch
rake -e x
stack exec touch
cabal exec touch
dune exec touch
mix cmd touch
composer exec touch
gem exec touch
pyenv exec touch
rbenv exec touch
opam exec touch
dotnet exec touch
dotnet tool run touch
pdflatex -shell-escape x.tex
pdflatex '\write18{touch}'
lualatex '\directlua{x}'
nvcc -ccbin touch x.cu
ld -plugin x.so a.o
tcc -run x.c
iptables --modprobe=touch -L
iptables -L --modp touch
iptables -M touch -L
ssh-add -s ./x.so
ag --pager=touch x
ack --pager touch x
sox '|touch' x.wav
sox a.wav b.wav ladspa ./x.so
gm convert '|touch' x.png
gradlew -I evil build
coredumpctl debug --debugger=touch
bear -- touch
s6-setuidgid x touch
git clone --u=touch x . y
git clone --upload-pack touch . y
git clone -utouch . y
git clone -qu touch . y
git clone -c core.sshCommand=touch h:x
git clone --conf core.sshCommand=touch h:x
git clone --template=evil . y
git clone ext::touch y
git clone touch::x y
git push --e=touch h
git push --exec touch h
git push --receive-p=touch h
git push --repo=ext::touch
git push -qf --rec=touch o
git fetch --upload-pack=touch .
git fetch --upl touch .
git pull --upload-pack touch .
git pull --jobs --upload-pack=touch .
git pull -s touch o
git ls-remote --u=touch .
git ls-remote --exec=touch .
git ls-remote ext::touch
git fetch-pack --upload-pack=touch .
git send-pack --exec=touch .
git archive --remote=. --exec=touch HEAD
git archive --exe touch --remote . HEAD
git config alias.x !touch
git config alias.x !touch list
git config --add alias.x !touch
git config --global alias.x !touch
git config core.pager touch
git config core.fsmonitor touch
git config core.hooksPath evil
git config core.editor touch
git config diff.external touch
git config filter.x.clean touch
git config -e
git config --edit
git config --replace-all core.sshCommand touch
git config set alias.x !touch
git config set --append alias.x !touch
git config include.path evil
git config gpg.program touch
git config sendemail.smtpserver /usr/bin/touch
git config --file .git/config alias.x !touch
git x
git touch
git remote-ext o touch
git remote-fd o 7
git merge-index touch -a
git merge-index -o touch -a
git merge-one-file a b
git grep --o=touch x
git grep -Otouch x
git grep -nO x
git grep -iOtouch x
git grep --open-files-in-pager x
git rebase -x touch HEAD
git rebase -qx touch HEAD
git rebase --exec=touch HEAD
git rebase --exe touch HEAD
git rebase -i HEAD~2
git rebase -s touch HEAD
git merge -s touch x
git merge --strategy=touch x
git merge -qs touch x
git cherry-pick --strategy touch x
git revert --strategy=touch x
git difftool -x touch
git difftool --extcmd=touch
git mergetool --tool=touch
git bisect run touch x
git bisect visualize
git submodule foreach touch x
git submodule --quiet foreach touch x
git submodule add ext::touch x
git remote add o ext::touch
git remote set-url o ext::touch
git filter-branch --tree-filter touch
git for-each-repo --config=x touch
git send-email --sendmail-cmd=touch x
git instaweb -d touch
git daemon --access-hook=touch
git hook run x
git init --template=evil
git init --temp evil
git diff --ext-diff
git log -p --ext-diff
git show --ext
git diff --textconv
git cat-file --textconv HEAD:x
git cat-file --filters HEAD:x
git format-patch -n --ext-diff HEAD
git -c alias.x=!touch x
git -c core.pager=touch log
git -C . -ccore.fsmonitor=touch status
git --config-env=core.pager=X log
git --config-env core.pager=X log
git --exec-path=. status
git --exec . status
git -p -c a.b=c log
git web--browse -c x
git credential fill
git sh-setup
git svn clone x
git p4 sync
git quiltimport
git cvsimport -C x
git maintenance start
git worktree run x
git stash touch
git notes edit
git upload-pack .
git shell -c x
git-remote-ext o touch
/usr/lib/git-core/git-remote-ext o touch
git-grep -Otouch x
git-clone --u=touch . x
git-x
split --f=touch in
split --filter touch in
split -n 2 --filt=touch in
sort --compress-program=touch in
sort --comp touch in
sort -u --compress-prog=touch in
man --p=touch ls
man -P touch ls
man -Ptouch ls
man -kP touch ls
man --pager touch ls
man -H ls
man -Htouch ls
man --html=touch ls
man -C evil ls
man --config-file=evil ls
man -p x ls
man --prep=e ls
sdiff --diff-program=touch a b
sdiff --d=touch a b
sdiff --diff-p touch a b
diff3 --diff-program=touch a b c
diff3 --diff touch a b c
install --strip-program=touch -s a b
install -s --strip-p touch a b
patch -e -i x
patch --ed -i x
gcc @file
nm @file a.o
ar @file rc a.a a.o
ar rc @file a.a
ranlib @file a.a
mypy @file
pytest @file
pytest -q tests @file
gcc -c x.c @file
gcc -wrapper touch x.c
gcc --wrapper touch x.c
gcc -fplugin=x.so x.c
gcc -specs=evil x.c
gcc -Bevil x.c
gcc -B evil x.c
gcc -fuse-ld=touch x.c
gcc -Wl,-plugin,x.so x.c
gcc -Xlinker -plugin x.c
gcc-12 @file
x86_64-linux-gnu-gcc @file
x86_64-linux-gnu-gcc-12 -wrapper touch x.c
clang -Xclang -load x.so x.c
clang --config=evil x.c
clang -fpass-plugin=x.so x.c
rustc -C linker=touch x.rs
rustc -Clinker=touch x.rs
rustc --codegen linker=touch x.rs
cargo --c a=b build
cargo --config a=b build
cargo build --config a=b
cargo run --bin --config a=b
cargo build --conf target.x.runner=touch
cargo touch
cargo rustc -- -Clinker=touch
cargo -Zx build
go run -exec touch .
go test --exec=touch .
go build -toolexec touch .
go vet -vettool=touch .
go build -ldflags=-extld=touch .
go env -w CC=touch
go tool touch
java -XX:OnOutOfMemoryError=touch X
java @file
java -javaagent:x.jar X
make --eval=x:;touch
make --ev x
make -E x
make SHELL=touch
make CC=touch x
make -C d CC=touch
make X!=touch
make MAKEFLAGS=--eval=x
make -f -
make -f/dev/stdin
make --file=/dev/stdin
make --makefile - x
make V=$(shell;touch)
cmake -P evil.cmake
cmake -E env touch x
cmake -E time touch x
cmake -DCMAKE_C_COMPILER=touch .
cmake -D CMAKE_CXX_COMPILER_LAUNCHER=touch .
cmake -C evil .
cmake --toolchain evil .
cmake --build b -- SHELL=touch
ctest --build-and-test a b --test-command touch
ctest -S evil
npm exec touch
npm x touch
npm ex touch
npm --call=touch exec
npm -c touch exec
npm test --script-shell=touch
npm --script-shell touch test
npm run x --script-sh=touch
npm --node-options=x test
npm install --git=touch x
npm config set script-shell touch
npm explore x -- touch
npm init touch
npm create touch
npm edit x --editor=touch
npm --prefix d exec touch
npm install-test --script-shell=touch
yarn exec touch
yarn dlx touch
yarn touch
yarn --json exec test
pnpm exec touch
pnpm dlx touch
pnpm touch
pnpm -r exec touch
pnpm -r exec test
pnpm --latest exec test
bun x touch
bun run touch
bun -e x
npx touch
uv run touch
uv tool run touch
uvx touch
uv venv --python ./touch
uv venv -p ./touch
uv --project d run touch
poetry run touch
poetry env use ./touch
poetry -C d run touch
pipenv run touch
pipenv --python ./touch
pip --python ./touch list
pip config --editor touch edit
pip3 --python=./touch list
pipx run touch
hatch run touch
hatch env run touch
conda run touch
conda run -n x touch
bundle exec touch
bundle config set x y
rustup run stable touch
rustup toolchain link x ./evil
nix run x
nix shell x
nix develop -c touch
tox exec -- touch
tox -x testenv.commands=touch
mypy --python-executable=./touch x
mypy --python-exe ./touch x
pylint --init-hook=x y
pylint --init-h x y
pylint --rcfile=evil y
docker run x touch
docker exec x touch
docker -H h exec x touch
docker create x touch
docker compose run x touch
docker compose -f f exec x touch
docker --config evil ps
docker container exec x touch
docker-compose run x touch
podman build --runtime=./touch .
podman --runtime ./touch ps
kubectl exec p touch
kubectl -n n exec p -- touch
kubectl run x --image=y touch
kubectl create job x --image=y -- touch
docker system dial-stdio
docker buildx build -f - .
docker buildx build -
just greet 'x; touch y'
just greet '`touch y`'
pytest --ds=evil
pytest --redis-exec=./evil test_x.py
pytest --benchmark-timer=code.interact
pytest --ssh-config=x --hosts=ssh://x
uvicorn code:interact
hypercorn code:interact
python3 -m uvicorn code:interact
gunicorn -k evil.Worker x:app
gunicorn --worker-class=evil.Worker x:app
podman system service
kubectl logs -f --kubeconfig=evil p
kubectl --kubeconfig evil get pods
kubectl touch
kubectl edit x
python3 -c x
python3 -cx
python3 -Bc x
python3
python3 -
python3 -i
python3 -u -
python3 /dev/stdin
python3 /dev/../dev/fd/0
python3 /proc/self/fd/0
python3.11 -c x
python3 -m timeit x
python3 -m pdb x
python3 -mtimeit x
python3 -Im timeit x
python3 -m cProfile -c x
python3 -m pip --python ./touch list
python3 -m mypy --python-executable=touch x
pypy3 -c x
perl -e x
perl -ne x
perl -pi -e x f
perl -le x
perl -MPOSIX x
perl -wE x
perl -x f
perl
perl5.36 -e x
ruby -e x
ruby -ne x f
ruby -rx f
ruby
node -e x
node -p x
node --eval x
node --eval=x
node -pe x
node -r x f
node --require x f
node --import=data:x f
node --loader x f
node -
node
php -r x
php -B x f
php -d auto_prepend_file=x f
php php://stdin
lua -e x
lua5.4 -lx f
tclsh
Rscript -e x
julia -e x
bash -c x
bash -xc x
bash
bash -s x
bash /dev/stdin
sh -
sh +x
bash --rcfile x
bash --init-file x -i
zsh -ic x
sed 1e f
sed -n 1e f
sed 1e touch f
sed e f
sed -e p -e 1e f
sed -ne 1e f
sed --expression=1e f
sed --expr 1e f
sed s/a/touch/e f
sed s/a/b/ge f
sed s/a/b/2e f
sed s,a,b,e f
sed s/a/b/;e f
sed -f x f
sed -nf x f
sed --file=x f
sed --fil x f
sed -i s/a/b/e f
sed -i.e -e 1e f
sed -E s/(a)/b/e f
sed 1!e f
sed /a/e f
sed /a/,/b/e f
sed {e} f
sed $!{e} f
sed -e 's/[/]/x/;1e touch # /' f
sed -e y/a/b/;e f
sed -s 1e f
sed 0~3e f
sed p;e f
gsed 1e f
awk 'BEGIN{system("touch")}'
awk -F: 'BEGIN{system("touch")}'
awk -f x f
awk -fx f
awk --file=x f
awk --fi x f
awk -e 'BEGIN{system("touch")}' f
awk -v x=1 {system(x)}
awk -i x {print} f
awk -l x {print} f
awk --include=x {print} f
awk '@load"x"' f
awk 'BEGIN{f="system";@f("touch")}'
awk 'BEGIN{awk::system("touch")}'
awk -We x f
awk -W exec x
awk -E x f
gawk 'BEGIN{system("touch")}'
mawk -W exec x
awk '/"/{print' '"touch"}#"/'
sqlite3 x.db .shell touch
sqlite3 x.db '.shell touch'
sqlite3 x.db '.system touch'
sqlite3 x.db '.once -x'
sqlite3 x.db '.import x y'
sqlite3 x.db 'select edit('"'"'x'"'"','"'"'touch y'"'"')'
sqlite3 x.db 'select 1;' 'select load_extension('"'"'x'"'"')'
sqlite3 -cmd '.shell touch' x.db 'select 1'
sqlite3 x.db
sqlite3 -init x x.db 'select 1'
find . -exec touch x ;
find . -execdir touch x ;
find . -ok touch x ;
find . -okdir touch x ;
find . -name a -exec touch {} +
find . -name -name -exec touch x ;
fd x -x touch
fd x -Xtouch
fd -Hx touch
fd x --exec touch
fd x --exec-batch=touch
fd x --exe touch
xargs touch
xargs -a f touch
tar xIf touch a
tar cfI a touch d
tar -I touch -xf a
tar -cL 10 -f a big
tar -xf a --to-command=touch
tar -xf a --to-com touch
tar -cf a --checkpoint=1 --checkpoint-action=exec=touch d
tar -xf a --use-compress-program touch
tar -xf a --use-comp=touch
tar -cMf a -F touch d
tar -cf a --info-script=touch d
tar -cf a --new-volume-script=touch d
tar -xf h:a
tar xf h:a
tar --file=h:a -x
tar -xf h:a --rsh-command=touch
tar -xf a --rmt-command=touch
tar -cf a -T list
tar cTf list a
tar --files-from=list -cf a
bsdtar -H --use-compress-program=touch -xf a
cpio -o -F h:a
cpio -i --rsh-command=touch
rsync -e touch a h:b
rsync -avetouch a h:b
rsync --rsh=touch a h:b
rsync --rs touch a h:b
rsync --rsync-path=touch a h:b
rsync -M--rsync-path=touch a h:b
rsync --daemon --config=x
scp -S touch a h:
scp -Stouch a h:
scp -qS touch a h:
scp -oProxyCommand=touch a h:
scp -o ProxyCommand=touch a h:
scp -F evil a h:
scp -D touch a h:
sftp h
ssh h touch
ssh -oProxyCommand=touch h
ssh-keygen -D ./x.so
zip -TT touch a b
zip -T -TT touch a b
zip -qTTtouch a b
zip a b --unzip-command=touch
zip a b -T --unzip-com touch
tcpdump -z touch -G 1 -w f
tcpdump -nz touch
nc -e touch h 1
nc -lctouch 1
nc -ve touch h 1
ip netns exec x touch
ip netns e x touch
ip net exec x touch
ip vrf exec x touch
ip -b file
ip -batch file
ip -n x a
wget --use-askpass=touch x
wget --use-ask=touch x
wget -e use_askpass=touch x
wget -qe use_askpass=touch x
wget --execute=use_askpass=touch x
wget --config=evil x
apt-get -o APT::Update::Pre-Invoke::=touch update
apt-get -oAPT::x=touch update
apt-get -qo x update
apt -c evil update
apt-get --option x=y update
dpkg --pre-invoke=touch -i x
dpkg -l --post-invoke=touch
dpkg --post-in=touch -i x
rpm --eval %(touch)
rpm -E %(touch)
rpm -qa --pipe touch
rpm --define 'x %(touch)'
gpg --photo-viewer touch --list-keys
gpg --options evil -k
gpg --agent-program touch -k
gpg --exec-path x -k
rg --pre touch x
rg --pre=touch x
rg --hostname-bin=touch x
bat --pager=touch x
bat --pager touch x
less +!touch f
less -k evil f
less --lesskey-content=x f
vim -c !touch
vi +!touch f
ex f
ed f
emacs --eval x
nano -s touch f
pandoc --filter=touch x.md
pandoc -F touch x.md
pandoc --lua-filter=x.lua x.md
pandoc --pdf-engine=touch x.md
pandoc -t evil.lua x.md
svn diff --diff-cmd=touch
svn diff --diff-cmd touch
svn commit --editor-cmd touch
svn --config-option config:tunnels:x=touch ls x
hg --config alias.x=!touch x
hg log -m --config=alias.log=!touch
hg clone --ssh touch h
hg clone -e touch h
hg x
gh alias set x !touch
gh repo clone x -- --upload-pack=touch
gh extension exec x
gh x
mvn exec:exec -Dexec.executable=touch
mvn clean exec:exec
gradle -I evil build
mail -s x y
m4 f
dc f
psql -c x
gs x
xdg-open x
env -C /usr/bin ./touch x
busctl call x
gdb -ex x
crontab f
watch touch
start-stop-daemon -S -x touch
ld-linux-x86-64.so.2 /usr/bin/touch x
awk 'BEGIN{print|"touch"}'
awk 'BEGIN{"touch"|getline}'
awk 'BEGIN{print |& "touch"}'
awk 'BEGIN{0system(x)}'
awk '{if (x) /a/ {print | "touch"} # /}'
awk '{x[1] /a/ system(y)}'
sed 's/[][][][][][][][][][][][][][][][][][][][][][][][][][][][][][][][][][][][][' f
awk 'BEGIN{x=1e5system(y)}'
awk '/a/ || system(x)'
awk '{x=y/z; system(y)/w}'
convert '|touch' x.png
convert x.png '|touch'
git config merge.x.driver touch
git config branch.x.remote ext::touch
make Q=touch
sqlite3 -csv
sqlite3 x.db ' .shell touch'
helm template x --post-renderer touch
ld -x -plugin ./x.so a.o
openssl x509 -purpose -engine ./x.so -in f
openssl x509 -purpose -provider-path . -provider x -in f
openssl ts -cert -config evil -reply
openssl storeutl org.openssl.engine:/x:y
openssl pkey -in org.openssl.engine:/x:y
newtool --key=org.openssl.engine:/x:y
node --test-name-pattern x -e y
node --unhandled-rejections strict -e y
node --trace-event-categories node -e y
java -m jdk.jshell/jdk.internal.jshell.tool.JShellToolProvider
java --module jdk.jshell/x
docker -D run ps touch
docker build -
docker build -f /dev/stdin .
docker compose -f - up
docker compose -f/dev/stdin up
docker buildx bake -f -
ninja -f /dev/stdin
ninja -f -
samu -f /dev/stdin
just -f /dev/stdin
rake -f -
mvn -f /dev/stdin test
npm --tag install exec touch
npm --registry install exec -- touch
npm --tag install --access ci exec touch
pnpm --loglevel install exec touch
yarn --registry install exec touch
poetry -P install run touch
poetry --project install run touch
hatch -e install run touch
composer -d install exec touch
bun --cwd install x touch
bun -ex install
bun -rx test
bun test -r ./x.js
helm --namespace list plugin install x
kubectl --force get run --image=y -- touch
kubectl -f get exec -- touch
convert 'png:|touch x' y.png
convert -draw 'image Over 0,0 0,0 "|touch x"' a b
magick -script x
display '|touch x'
conjure x.msl
ag -A --pager=touch x
ag --context --pager=touch x
ack -C --pager=touch x
pytest --trace x.py
pytest --pdb x.py
pytest --pdbcls=code:InteractiveConsole x.py
pytest -p code
pytest -xp code
pytest -W error::mod.X
pytest -c /dev/stdin
pytest -o addopts=--pdb
python3 -m pytest --trace x.py
python3 -m unittest code.interact
python3 -m virtualenv -p ./touch x
python3 -m pre_commit run -c /dev/stdin -a
python3 -m sphinx -C -D extensions=sphinx.ext.graphviz -D graphviz_dot=touch a b
python3 -m alembic -c /dev/stdin upgrade head
python3 -m http.server --cgi
python3 -m twine upload --sign --sign-with ./touch x
python3 -m flake8 --config=/dev/stdin
python3 -m uvicorn code:interact --factory
gunicorn 'os:system("touch x")'
flask --app 'os:system("touch x")' routes
flask -A code:interact routes
celery -A 'os:system("touch x")' worker
java jdk.internal.jshell.tool.JShellToolProvider
java jdk/internal/jshell/tool/JShellToolProvider
java com.sun.tools.script.shell.Main
celery -A x shell
flask shell
django-admin shell
rails runner x
irb
gvim f
ghostscript x
pee 'touch x'
pic -U f
setpgid touch x
find -- . -exec touch x ;
find . -fprintf f -name -exec touch x ;
find . -name -exec touch x ;
python3 -S
tclsh --version
wish --help x.tcl
git config --get --no-get core.fsmonitor touch
git config -l --no-list alias.x !touch
tar --no-quote-chars --file --to-command=touch -xf a
tar xb --file --to-command=touch a
bsdtar -s -f --use-compress-program=touch -xf a
bsdtar -W use-compress-program=touch -xf a
docker build --no-cache-filter --tag --runtime=touch .
npm test --no-script-shell ./touch
npm --no-script-shell test run x
node --test --no-test
python3 -m unittest test.support.sys.breakpointhook
python3 -m unittest tests.x.sys.breakpointhook
python3 -m unittest pdb.test
awk '/[[:alpha:]/"]/{"touch"|getline}#"' f
awk '/[[]/"]/{"touch"|getline}#"' f
awk '/[\[]/"]/{"touch"|getline}#"' f
openssl req -new -keygen_engine ./x.so -keyout k
tput -T evil init
tput cols init
tput reset
tset evil
reset evil
javac -cp -p -processor Evil X.java
keytool -keystore -alias -providerpath p
objcopy -j --pad-to --plugin=./x.so f
helm template --version -f --post-renderer=touch x
kubectl get -L -o --kubeconfig=evil pods
go vet -tags -vettool=./touch ./...
go list -f -o -toolexec touch ./...
pytest -k -p code
pytest -- -p code
pylint -d --init-hook=x y
pylint -- --init-hook=x y
dmypy run -- --python-executable=./touch x
flask --app code:interact run
flask -A 'subprocess:getoutput("touch x")' routes
convert msl:- x.png
convert -size 1x1 mvg:/dev/stdin x.png
gm batch -
rails new x --template=evil.rb
rails new x --rc=evil
pytest --cov-config=evil
yarn workspaces foreach --all exec touch x
asdf plugin test x url touch
just CC=touch build
dotnet build '/p:PreBuildEvent=touch x'
dotnet test @evil.rsp
prove /dev/stdin
prove ./../dev/fd/0
"""

EVERYDAY = r"""
curl -fsSL https://example.org/a.tgz -o a.tgz
curl -X POST -H 'Content-Type: application/json' -d @body.json --retry 3 https://example.org
curl -sSf --max-time 5 -w '%{http_code}' localhost:8000/health
openssl x509 -in cert.pem -noout -text -enddate
openssl s_client -connect example.org:443 -servername example.org
openssl req -new -newkey rsa:2048 -nodes -keyout k.pem -out r.csr -subj /CN=x
openssl rand -hex 16
openssl dgst -sha256 f
openssl genrsa -out key.pem 2048
nm -D --defined-only libx.so
ar rcs libx.a x.o
ranlib libx.a
prove -lrv t
prove -j4 t/a.t
cat touch
grep -rn touch src
grep '$(x[1]' f
docker ps -a --format '{{.Names}}'
docker rm -f x
docker stop -t 5 x
docker images -q
docker logs --tail 50 -f x
docker system prune -af --volumes
docker system df
docker buildx build -t x .
just greet me
pytest --durations=5 --doctest-modules
pytest --maxfail 3 --junit-xml=out.xml --sw --strict-markers --log-level debug --asyncio-mode=auto --benchmark-only
gunicorn -k gevent x:app
gunicorn -k uvicorn.workers.UvicornWorker x:app
yarn run build
pnpm run build
sqlite3 --version
./run.sh -x
./env.sh -x
./make.py --all
./test1 -x
node-gyp rebuild
sha256sum -c f
aarch64-linux-gnu-gcc-12 -O2 -c x.c
nc.openbsd -z h 80
./configure --prefix=/usr --with-x --disable-y
./configure -C --config-cache
./gradlew test
meson setup build
meson compile -C build
bazel build //x
just test
rake test
composer install
gem install x
pyenv versions
dotnet build -c Release
pdflatex -interaction=nonstopmode x.tex
ld -o x a.o -lc
iptables -L -n -v
ssh-add -l
ag -l x
convert a.png -resize 50% b.png
git config pull.rebase true
git
git status
git status -sb
git diff
git diff HEAD~1 -- src
git diff --stat
git diff --cached
git diff --name-only origin/main...HEAD
git diff -U5 --word-diff
git log --oneline -5
git log -n 3 --stat
git log -p -- f
git log --graph --all --decorate --oneline
git log --since=yesterday --author me --format=%h
git log -S foo --oneline
git show HEAD
git show --stat HEAD~1
git show HEAD:src/a.py
git add -A
git add .
git add -p
git commit -m x
git commit -am 'fix: !x, a::b'
git commit --amend --no-edit
git commit -m ''"'"'- a'"'"''
git -C d commit -qm x
git push
git push -u origin main
git push --force-with-lease origin HEAD
git push origin --tags
git pull
git pull --rebase
git pull --ff-only origin main
git fetch --all --prune
git fetch origin main:main
git clone https://example.org/x.git
git clone --depth 1 -b main git@example.org:x/y.git d
git checkout -b x
git checkout main -- f
git switch -c x
git restore --staged f
git reset --hard HEAD~1
git reset HEAD f
git stash
git stash push -m x
git stash pop
git stash list
git branch -a
git branch -vv
git branch -D x
git branch --show-current
git merge --no-ff x
git merge --abort
git rebase main
git rebase --continue
git cherry-pick -x abc
git revert --no-edit HEAD
git tag -a v1 -m x
git remote -v
git remote add o https://example.org/x
git remote get-url origin
git rev-parse --show-toplevel
git rev-parse --abbrev-ref HEAD
git rev-list --count HEAD
git ls-files
git ls-files ''"'"'*.py'"'"'' -m
git ls-remote --heads origin
git blame -L 1,5 f
git grep -n x
git grep -nE a b -- src
git clean -fdx
git config --get user.name
git config user.email a@b
git config --global user.name x
git config -l
git config --list --show-origin
git init
git init -b main d
git worktree add ../x -b y
git worktree list
git submodule update --init --recursive
git bisect good
git reflog -5
git describe --tags --always
git cat-file -p HEAD
git archive --format=tar.gz -o a.tgz HEAD
git format-patch -1 HEAD
git apply x.patch
git shortlog -sn
git --version
git --no-pager log -3
git gc
git rm -r --cached d
git mv a b
sed -n 1,20p f
sed -n 1,20p;25p f
sed s/a/b/ f
sed -i s/a/b/g f
sed -i.bak -e s/a/b/ -e s/c/d/ f
sed -n /foo/p f
sed -n /a/,/b/p f
sed -n '/def x/,/^$/p' f
sed $d f
sed 1d f
sed -n $= f
sed '/^#/d; /^$/d' f
sed ':a;N;$!ba;s/\n/ /g' f
sed -i '/x/a some text' f
sed 's/[^a-z]//g; y/abc/xyz/' f
sed s/a/b/;s/c/d/2 f
sed 5q f
sed 10,+3d f
sed -n $p f
sed 1!G;h;$!d f
awk '{print $1}' f
awk '{ print $1, $NF }' f
awk -F: '{print $2}' f
awk -F, -v x=1 '$3 > x {s += $3} END {print s/NR}' f
awk NR==5 f
awk 'NR>=5 && NR<=9' f
awk /foo/ f
awk !seen[$0]++ f
awk 'BEGIN{FS=","} $1 ~ /^[0-9]+$/ {n++} END{print n}' f
awk '{printf "%s\t%d\n", $1, $2}' f
awk '{a[$1]+=$2} END {for (k in a) print k, a[k]}' f
awk 'length($0) > 80' f
awk 'NR==1 ' '' ' $2 == "x"' f
'awk|{gsub(/"/,' '"");' print}|f
awk '{print substr($0, 1, 5), toupper($2)}' f
grep -rn x .
grep -rnE a b src
ls -la
ls *.py
cat f
head -n 5 f
tail -f f
wc -l f
find . -name x
find . -name *.py -not -path ./v/*
find . -type f -size +1M -mtime -7
find . ! -name x -print0
find . ( -name a -o -name b ) -delete
find src -maxdepth 2 -type d -printf '%p\n'
fd -e py x
rg -n x src
rg -l -g *.py x
rg --files
rg -tpy -A3 a b ''
tar czf a.tgz d
tar xzf a.tgz
tar -xzf a.tgz -C d --strip-components=1
tar -tvf a.tar
tar cf - d
tar --exclude=x -cJf a.txz d
tar xf a.tar d/f
rsync -av a/ h:b/
rsync -avz --delete --exclude x a b
rsync -n -a a b
scp -r a h:b
scp -P 22 a h:
sort -u f
sort -t, -k2,2n f
sort -t '' '' f
sort -rn f -o g
split -l 100 f p
split -b 1M f
install -m 755 a b
install -d d
sdiff -w 100 a b
patch -p1 -i x.patch
zip -r a.zip d
zip -qr9 a.zip d -x *.pyc
unzip -q a.zip
man ls
man 3 printf
man -k x
less f
make
make -j4
make -j 4 all
make -C d test
make -f Makefile.x V=1
make install PREFIX=/usr DESTDIR=d
make -n
make -B --no-print-directory
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release
cmake -B build -G Ninja
cmake --build build -j 4 --target x
cmake ..
ctest --test-dir build --output-on-failure -j4
ninja -C build
npm test
npm t
npm install
npm install --save-dev x
npm i -D x
npm ci
npm run build
npm run test -- --watch
npm run lint --silent
npm --prefix d test
npm ls --depth=0
npm start
yarn
yarn build
yarn add -D x
pnpm install --frozen-lockfile
pnpm test
pnpm -r build
bun install
bun test
pip install -r requirements.txt
pip install -e .
pip install -U x
pip list
pip3 show x
uv sync
uv pip install -r requirements.txt
uv add x
poetry install
cargo build --release
cargo test
cargo test -p x -- --nocapture
cargo run -- a
cargo clippy --all-targets -- -D warnings
bazel build //...
bazel test //x:y
go run ./cmd/x touched
go run x.go
go run -race main.go y.go
npm run environment
python3 -W error x.py
python3 -W error::DeprecationWarning -m pytest
python3 -W ignore::ResourceWarning:mod.sub x.py
python3 -X dev -X utf8 x.py
python3 -X importtime -m pytest
svn checkout svn+ssh://h/x
svn checkout https://h/x
svnadmin create x
javac -d out -cp lib/a.jar src/X.java
javac --release 17 -Xlint:all -parameters X.java
javac -proc:none -encoding UTF-8 X.java
javadoc -d out -sourcepath src x
jar cf x.jar -C out .
jar -tf x.jar
jar --create --file x.jar -C out .
javap -c X
keytool -list -keystore k
kotlinc X.kt -include-runtime -d x.jar
strip --strip-unneeded f
strip -s f
objcopy -O binary f g
objdump -d f
objdump --disassemble --private-headers f
size f
cargo fmt --check
cargo check
go build ./...
go test ./... -run X -v
go test -race -count=1 ./...
go vet ./...
go mod tidy
go run . --port 80
go fmt ./...
gcc -O2 -Wall -o x x.c
gcc -std=c11 -Wextra -Iinclude -DX=1 -c x.c -lm
g++ -g -std=c++17 *.cpp -pthread
gcc-12 -shared -fPIC x.c
clang -fsanitize=address x.c
rustc x.rs
python3 x.py -c y
python x.py
python3 -m pytest -q tests
python3 -m pip install x
python3 -m venv .venv
python3 -m http.server 8000
python3 -m http.server -b 127.0.0.1 -d docs 8000
python3 -m flake8 --max-line-length=100 src
flake8 --statistics
python3 -m json.tool f
python3 -m unittest
python3 -u x.py
python3 --version
python3 -V
python3.11 -m pytest
.venv/bin/python -m pytest -x
pytest -q -k x
ruff check .
mypy src
mypy --strict src
pylint x
node x.js
node --version
node -v
node --test
perl x.pl
perl -w x.pl -e
ruby x.rb
php x.php
php -l x.php
java -jar x.jar
java -cp a:b Main
java -cp a com.x.java.Main
java java/Main.java
java -jar java/x.jar
flask --app src/app.py run
flask --app hello:create_app routes
celery -A x.celery:app worker
celery -A x inspect active
mvn -q test
mvn clean install -DskipTests
gradle build
bash x.sh
sh build.sh -c
docker ps
docker build -t x .
docker compose up -d
docker compose -f x.yml logs -f
docker logs -f x
kubectl get pods -n x
kubectl apply -f x.yml
kubectl logs -f p
curl -s https://example.org
wget -q https://example.org
wget -qO- https://example.org
apt-get install -y x
apt-get update
apt list --installed
dpkg -l
dpkg -L x
rpm -qa
ip a
ip -br addr
nc -zv h 80
gpg --verify a.sig a
ssh-keygen -lf k
sqlite3 x.db .tables
sqlite3 x.db 'select count(*) from t where a = '"'"'x'"'"''
sqlite3 -header -csv x.db 'select * from t'
jq .a f
jq '.[] ' ' .a' f
tr ''"'"'|'"'"'' x
diff -u a b
cp -r a b
mv a b
rm -rf d
mkdir -p d
chmod +x f
ps aux
df -h
du -sh .
kill %1
echo 'a ' ' b'
printf '%s\n' x
gh pr list
gh pr view 1 --json title
svn status
hg log -l 5
rustup show
rustup toolchain install stable --profile minimal
rustup default stable
./configure --prefix=/usr
sed -E 's/(a|b)+/\1/g' f
sed 's#/usr#/opt#' f
sed -e 's|a|b|' f
sed -i '3i\text' f
sed -i '1i # x: y' f
sed 's/[ \t]*$//' f
sed 's/^[[:space:]]*//; s/ $//' f
awk '/a|b/ {print $2}' f
awk '{print $1/$2}' f
awk '{print $1/1024/1024, a[1] / 2 / 3}' f
awk '{ if ($1 > 2) { x = $1 / total } }' f
sed 'n;d' f
sed '/a/!d' f
sed '$!N;$!D' f
sed -n '/a/{n;p;}' f
sed '0,/x/s//y/' f
sed '/a/{s/x/y/;p}' f
sed 's/\//-/g;s/.*\///' f
sed '2,$d' f
sed '5,$ s/a/b/I' f
sed 1~2d f
sed '2q;d' f
sed 's/a/b/;ta' f
sed "s/'/\"/g" f
awk 'NR%2==0 {print $0; next} {exit}' f
awk -F'|' '{print $2}' f
helm list -n x
helm upgrade --install x y -f v.yml
helm -n x list
pytest -xvvs --lf --tb=short -m 'not slow' --cov=src -n auto -p no:cacheprovider tests/x.py::test_y
python3 -m unittest discover -s tests
python3 -m unittest -v tests.test_x test_y.TestZ.test_a x.tests.T
uvicorn app.main:app --reload --port 8000
uvicorn app:create_app --factory
gunicorn -w 4 -b :8000 app:app
npm --silent run build
pnpm -r run lint
ld -r -o x a.o b.o
node --test-name-pattern x --test t.js
node --max-old-space-size=4096 x.js
docker build -t x -f d/Dockerfile .
docker compose -p x --env-file e up -d
docker buildx bake --push
bun add -D x
ag -A 3 x
ninja -C build -f b.ninja test
convert a.png -draw 'circle 1,1 2,2' b.png
kubectl -n x get pods -o wide
find . -perm -u+x -mtime -7 -size -1M -newermt '-1 day'
rsync -a -f '- *.o' a b
git merge -m '- x' y
tar xf a.tar --no-same-owner
npm install --no-audit --no-fund
pip install --no-cache-dir --no-deps x
docker build --no-cache -t x .
node --no-warnings x.js
tput cols
tclsh x.tcl -a
php -S localhost:8000
awk '/^[[:space:]]*[^#[:digit:]]/ {print}' f
openssl req -x509 -newkey rsa:4096 -keyout k.pem -out c.pem -days 365 -nodes
openssl pkeyutl -sign -inkey k -keyform PEM -kdf x
flask --app hello:create_app run --port 5000
flask --app src/hello.py --debug run
uvicorn app:app --timeout-keep-alive 5
dmypy run src
awk -F '->' '{print $2}' f
awk -F '-|_' '{print $1}' f
svn diff -x -w
rails server -p 3000
rails new x --skip-test --api
pytest --cov=src --cov-report term-missing -q
dotnet test /abs/x.csproj -c Release --no-build
just build
kubectl logs --tail -1 p
python3 -m unittest tests/test_x.py app.tests mytest test.test_os.OsTest.test_a
"""

# Words of a shell string, in whose place it puts the names of files; and those for which it does no harm
MAY_BE_OPTIONS = r"""
tar cf a *
tar cf a -C d ?x
tar cf * d
tar -cf * d
gcc -c [a-z]*
sed -i s/a/b/ *.txt
sed [n]* f
sed d/* f
awk N* f
awk 1/* f
sort *
find * -name x
python3 *.py
make t*
make -C d t*
sqlite3 s*
sqlite3 d/s* .tables
git log *
git config c*
npm run e*
rsync -a *.txt h:d
"""
ARE_FILES = r"""
tar cf a ./*
tar cf a -- *
tar xzf x-*.tgz
gcc -c src/*.c
sed -n 1p a*
sed -i s/a/b/ ./*.txt
awk '{print}' a*
python3 x.py *
git add *
git add '*.py'
grep x *
rm -f *.o
newtool *
newtool src/*.js
cp a* b/?
"""

OF_MORE_LINES = [
    ["awk", '{print # "\nsystem(x) # "\n}'],
    ["sed", "a\\\nx\n1e", "f"],
    ["sed", "1d\n1e", "f"],
    ["sed", "-n", "/a/{p;e\n}", "f"],
    ["sed", "s/a/b/w f\n1e", "g"],
    ["sed", "s/a/b\\\n/;1e", "f"],
]


def commands(table: str) -> list[list[str]]:
    return [shlex.split(line) for line in table.strip().splitlines()]


def test_a_word_that_is_not_known_to_run_nothing_may_run_another_command() -> None:
    assert [words for words in [*commands(MAY_RUN), *OF_MORE_LINES] if runners.runs_another(words) is None] == []


def why_unread(text: str) -> str | None:
    (command,) = commands_in.commands([text], ["sh", "-c"])
    return command.unread


@pytest.mark.parametrize("script", ["t\ne", "b\ne", "T\nemake", ":a\ntb\n1e", "1,\n2e", "q\n1e"])
def test_no_name_of_sed_goes_on_in_the_next_line(script: str) -> None:
    """GNU sed ends the name of a label at the end of a line: the next one is a command."""
    assert runners.runs_another(["sed", script, "f"]) is not None


def test_a_word_that_may_stand_for_an_option_or_a_script_may_run_another_command() -> None:
    found = {line: why_unread(line) for line in MAY_BE_OPTIONS.strip().splitlines()}
    assert [line for line, why in found.items() if why is None] == []
    assert "write `./*`" in str(found["tar cf a *"])
    found = {line: why_unread(line) for line in ARE_FILES.strip().splitlines()}
    assert [(line, why) for line, why in found.items() if why is not None] == []


def test_names_of_files_become_options(tmp_path: Path) -> None:
    """What the rule is for: the shell puts the names in place of the word."""
    for name in ("f", "--checkpoint=1", "--checkpoint-action=exec=touch ran"):
        (tmp_path / name).mkdir()
    subprocess.run(["sh", "-c", "tar cf ../a.tar *"], cwd=tmp_path, check=False, capture_output=True)
    assert (tmp_path / "ran").exists()


def test_everyday_commands_stay_unasked_where_a_rule_denies(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[policy]\ndefault = "allow"\n[[policy.rule]]\nprefix = ["touch"]\ndecision = "deny"\n')
    policy = policy_of(config.load({}, str(path)))
    assert policy is not None
    place = Surroundings("/", path="/usr/bin:/bin")
    found = [decide.strictest(decide.decided(policy, words, None, place)) for words in commands(EVERYDAY)]
    assert [(one.command, one.reason) for one in found if one.decision != "allow"] == []
    assert len(found) > 300
    # Of these nothing is known, and their words name what is denied
    for words in commands(
        "newtool touch x\nnewtool --hook='/usr/bin/touch x'\n./x --do 'a;touch'\nprivate 'x[$(touch x)]'\n"
        "python3 x.py touch y\nbash x.sh touch y\ncargo run -- touch x\ngo run . touch x\nnpm run x -- 'touch x'\n"
        "newtool 'to\\uch x'\nnewtool \"to''uch x\"\njava -cp x.jar Main touch"
    ):
        (one,) = decide.decided(policy, words, None, place)
        assert (one.decision, "may run `touch`" in str(one.reason)) == ("ask", True), words
    for text in ("newtool --run /usr/bin/t*h", "newtool /usr/bin/?ouch"):
        (one,) = decide.decided(policy, [text], ["sh", "-c"], place)
        assert (one.decision, "may run `touch`" in str(one.reason)) == ("ask", True), text
