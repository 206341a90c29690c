# Post the event (JSON, as it comes on stdin) to a URL when a job ends.
#
# Needs:  curl 7.55 or later. WEBHOOK_URL. WEBHOOK_HEADERS, if there is a secret: a file of yours (mode 600) with lines
#         such as "Authorization: Bearer …". A secret does not belong in the command, which is stored with the job and
#         shown in the process table.
#         An answer of 400 or more is a failed delivery (22). Failures that may pass (5xx, 429, no connection) are tried
#         twice more; all tries end within 26 s, before the notification command would be killed.
# Use:    outlive run --notify-command 'WEBHOOK_URL=https://example.org/hook sh /path/to/webhook.sh' -- make
# Test:   echo '{"event_type":"test"}' | WEBHOOK_URL=https://example.org/hook sh webhook.sh; echo $?

exec curl --silent --show-error --fail --proto =http,https --max-time 8 \
    --retry 2 --retry-connrefused --retry-max-time 18 \
    --header 'Content-Type: application/json' ${WEBHOOK_HEADERS:+--header "@$WEBHOOK_HEADERS"} \
    --data-binary @- --url "${WEBHOOK_URL:?}"
