# What bash reads before a command that is a pipeline (BASH_ENV, see programs.py): at its end it writes down the codes of all stages.
builtin unset BASH_ENV
trap '{ builtin printf "%s " "${PIPESTATUS[@]}" 1<>"$OUTLIVE_ROOT/$OUTLIVE_JOB_ID/stages"; } 2>/dev/null || :' EXIT
