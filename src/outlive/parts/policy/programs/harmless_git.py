"""What is known to run nothing else of the words of git: rows of harmless.py, where the signs are explained."""

from __future__ import annotations

_DIFF = (
    "-0123456789abcghimnpqrstuvwzDEFPRW -M? -B? -C? -U: -X? -I: -G: -S: -O: -l: -L: -n: --patch --unified --function-context "
    "--raw --patch-with-raw --patch-with-stat --numstat --shortstat --dirstat --cumulative --dirstat-by-file --check --summary "
    "--name-only --name-status --stat --stat-width --stat-name-width --stat-graph-width --stat-count --compact-summary --binary "
    "--full-index --color --ws-error-highlight --abbrev --src-prefix --dst-prefix --line-prefix --inter-hunk-context "
    "--output-indicator-new --output-indicator-old --output-indicator-context --break-rewrites --find-renames "
    "--irreversible-delete --find-copies --find-copies-harder --rename-empty --follow --minimal --ignore-all-space "
    "--ignore-space-change --ignore-space-at-eol --ignore-cr-at-eol --ignore-blank-lines --ignore-matching-lines "
    "--indent-heuristic --patience --histogram --diff-algorithm --anchored --word-diff --word-diff-regex --color-words "
    "--color-moved --color-moved-ws --relative --text --exit-code --quiet --ignore-submodules --submodule "
    "--ita-invisible-in-index --ita-visible-in-index --pickaxe-all --pickaxe-regex --rotate-to --skip-to --find-object "
    "--diff-filter --output --cached --staged --merge-base --cc --combined-all-paths --diff-merges --remerge-diff --base --ours "
    "--theirs --root --no-*"
)
_LOG = (
    f"{_DIFF} --all --branches --tags --remotes --glob --exclude --max-count --skip --since --after --until --before --author= "
    "--committer= --grep= --grep-reflog= --all-match --invert-grep --merges --first-parent --left-right --left-only --right-only "
    "--cherry --cherry-pick --cherry-mark --graph --oneline --pretty --format --abbrev-commit --decorate --decorate-refs "
    "--decorate-refs-exclude --clear-decorations --date --reverse --topo-order --date-order --author-date-order --reflog "
    "--walk-reflogs --stdin --simplify-by-decoration --full-history --dense --sparse --simplify-merges --ancestry-path "
    "--show-signature --relative-date --parents --children --boundary --source --count --objects --use-bitmap-index --not "
    "--min-parents --max-parents --merge --do-walk --encoding --notes --show-notes --expand-tabs --bisect --regexp-ignore-case "
    "--extended-regexp --fixed-strings --perl-regexp --basic-regexp --mailmap --use-mailmap --log-size --show-pulls --timestamp "
    "--header --disk-usage --filter --missing --quiet --line-prefix --expire --rewrite --updateref --stale-fix --dry-run --verbose"
)
_MERGE = (
    "-neqvx -S? -X: -m: --edit --cleanup --commit --ff --ff-only --signoff --gpg-sign --rerere-autoupdate --strategy-option= "
    "--continue --abort --quit --skip --allow-empty --allow-empty-message --keep-redundant-commits --mainline= --reference "
    "--stat --summary --log --squash --message= --autostash --verbose --quiet --allow-unrelated-histories --progress --verify "
    "--verify-signatures --overwrite-ignore --no-*"
)
_FETCH = (
    "-46aknpqtv -o: --verbose --quiet --all --set-upstream --append --atomic --force --multiple --tags --prune --prune-tags "
    "--recurse-submodules --dry-run --write-fetch-head --keep --update-head-ok --progress --depth= --shallow-since= "
    "--shallow-exclude= --deepen= --unshallow --refetch --update-shallow --refmap= --server-option= --ipv4 --ipv6 "
    "--negotiation-tip= --filter= --auto-maintenance --auto-gc --show-forced-updates --write-commit-graph --jobs= --no-* !remote"
)
ROWS = {
    "git": "> -C: -pPvh --namespace= --paginate --html-path --man-path --info-path --version "
    "--help --literal-pathspecs --icase-pathspecs --glob-pathspecs --noglob-pathspecs --no-*",
    # None of their options names a program
    "git add|git stage|git am|git annotate|git apply|git blame|git branch|git check-attr|git check-ignore|git check-mailmap|"
    "git check-ref-format|git checkout|git checkout-index|git cherry|git clean|git column|git commit|git commit-tree|"
    "git count-objects|git describe|git fast-export|git fmt-merge-msg|git for-each-ref|git fsck|git gc|git get-tar-commit-id|"
    "git hash-object|git help|git index-pack|git interpret-trailers|git ls-files|git ls-tree|git mailinfo|git mailsplit|"
    "git merge-base|git merge-file|git merge-tree|git mktag|git mktree|git mv|git name-rev|git pack-refs|git patch-id|git prune|"
    "git prune-packed|git read-tree|git repack|git replace|git rerere|git reset|git restore|git rev-parse|git rm|git show-branch|"
    "git show-index|git show-ref|git status|git stripspace|git switch|git symbolic-ref|git tag|git unpack-file|"
    "git unpack-objects|git update-index|git update-ref|git update-server-info|git var|git verify-commit|git verify-pack|"
    "git verify-tag|git version|git write-tree": "*",
    "git log|git show|git diff|git diff-files|git diff-index|git diff-tree|git range-diff|git whatchanged|git shortlog|"
    "git rev-list|git reflog|git stash list|git stash show|git bundle create|git bundle verify|git bundle list-heads|"
    "git bundle unbundle": f"{_LOG} -e -w? --email --numbered --group= --creation-factor=",
    "git format-patch": f"{_LOG} -nNk -o: -v: --numbered --signoff --stdout --cover-letter --numbered-files --suffix= "
    "--start-number= --reroll-count= --rfc --subject-prefix= --output-directory= --keep-subject --zero-commit --add-header= "
    "--to= --cc= --from --in-reply-to= --attach --inline --thread --signature= --base= --interdiff= --range-diff= --progress",
    "git grep": "-0123456789EFGHILPWacehilnopqrvwz -A: -B: -C: -e: -f: -m: --cached --untracked --exclude-standard "
    "--recurse-submodules --invert-match --ignore-case --word-regexp --text --recursive --max-depth= --extended-regexp "
    "--basic-regexp --fixed-strings --perl-regexp --line-number --column --full-name --files-with-matches --name-only "
    "--files-without-match --null --only-matching --count --color --break --heading --context= --before-context= "
    "--after-context= --threads= --show-function --function-context --and --or --not --quiet --all-match --max-count= --index "
    "--no-*",
    "git cat-file": "-epstz --batch --batch-check --batch-command --batch-all-objects --buffer --follow-symlinks --unordered "
    "--allow-unknown-type --use-mailmap --mailmap --path=",
    "git archive": "-0123456789lv -o: --output= --format= --prefix= --list --verbose --worktree-attributes --add-file= "
    "--mtime= --remote= !remote",
    "git merge": f"{_MERGE} -F: -m: --file= --into-name=",
    "git cherry-pick|git revert": f"-s {_MERGE}",
    "git rebase": "-fmnqvk -C: -S? -X: -r? --onto= --keep-base --quiet --verbose --signoff --committer-date-is-author-date "
    "--reset-author-date --ignore-date --ignore-whitespace --whitespace --force-rebase --continue --skip --abort --quit "
    "--show-current-patch --apply --merge --rerere-autoupdate --empty --keep-empty --autosquash --update-refs --gpg-sign "
    "--autostash --allow-empty-message --rebase-merges --fork-point --strategy-option= --root --reapply-cherry-picks --verify "
    "--stat --ff --no-*",
    "git clone": "-46lnqsv -b: -j: -o: --verbose --quiet --progress --reject-shallow --bare --mirror --local --shared "
    "--recurse-submodules --recursive --jobs= --reference= --reference-if-able= --dissociate --origin= --branch= --depth= "
    "--shallow-since= --shallow-exclude= --single-branch --shallow-submodules --separate-git-dir= --server-option= --ipv4 "
    "--ipv6 --filter= --also-filter-submodules --remote-submodules --sparse --checkout --hardlinks --tags --revision= --no-* "
    "!remote",
    "git init": "-q -b: --bare --shared --quiet --separate-git-dir= --initial-branch= --object-format= --ref-format=",
    "git fetch": f"-Pfmu -j: {_FETCH}",
    "git pull": f"-fr {_FETCH} {_MERGE} --rebase --jobs -j?",
    "git push": "-46dfnquv -o: --verbose --quiet --repo= --all --branches --mirror --delete --tags --dry-run --porcelain "
    "--force --force-with-lease --force-if-includes --recurse-submodules --thin --set-upstream --progress --prune --follow-tags "
    "--signed --atomic --push-option= --ipv4 --ipv6 --verify --no-* !remote",
    "git ls-remote": "-hqt -b --quiet --tags --heads --branches --refs --get-url --sort --exit-code --symref !remote",
    "git remote": "> -v --verbose",
    "git remote add|git remote rename|git remote remove|git remote rm|git remote set-head|git remote set-branches|"
    "git remote get-url|git remote set-url|git remote show|git remote prune|git remote update": "-adfnpv -t: -m: --tags "
    "--mirror --track= --auto --delete --add --push --all --prune --dry-run --verbose --no-* !remote",
    "git stash": "> -akpqu -m: --message= --all --include-untracked --keep-index --patch --quiet --staged --no-*",
    "git stash push|git stash save|git stash pop|git stash apply|git stash drop|git stash clear|git stash branch|"
    "git stash create|git stash store": "*",
    "git worktree|git bisect|git bundle|git sparse-checkout": ">",
    "git notes": "> --ref=",
    "git worktree add|git worktree list|git worktree lock|git worktree move|git worktree prune|git worktree remove|"
    "git worktree repair|git worktree unlock|git bisect start|git bisect good|git bisect bad|git bisect old|git bisect new|"
    "git bisect skip|git bisect reset|git bisect log|git bisect terms|git bisect next|git sparse-checkout list|"
    "git sparse-checkout set|git sparse-checkout add|git sparse-checkout reapply|git sparse-checkout disable|"
    "git sparse-checkout init|git notes add|git notes append|git notes copy|git notes list|git notes show|git notes merge|"
    "git notes remove|git notes prune|git notes get-ref": "*",
    "git submodule": "> -q --quiet --cached",
    "git submodule status|git submodule init|git submodule deinit|git submodule sync|git submodule summary|"
    "git submodule set-branch|git submodule set-url|git submodule absorbgitdirs|git submodule add|git submodule update": "-NdfnqB "
    "-b: -j: --init --recursive --remote --depth= --jobs= --reference= --force --name= --branch= --default --checkout --merge "
    "--rebase --recommend-shallow --single-branch --filter= --quiet --all --cached --files --progress --dissociate --no-* !remote",
    "git config": "-lz -f: -t: --global --system --local --worktree --file= --blob= --get --get-all --get-regexp "
    "--get-urlmatch --list --get-color --get-colorbool --type= --bool --int --bool-or-int --bool-or-str --path --expiry-date "
    "--null --name-only --includes --show-origin --show-scope --show-names --default= --fixed-value --value= --all --regexp "
    "--url= --no-type --no-includes !config",
}
