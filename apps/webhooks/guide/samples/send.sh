# Sends a signed message, as we do: WEBHOOK_SECRET=whsec_... sh send.sh http://127.0.0.1:9000/
ID="evt_$(date +%s)" AT="$(date +%s)"
BODY='{"id":"1","type":"webhook.test","createdAt":"2026-01-05T04:00:00Z","sequence":1,"data":{}}'
KEY="$(printf %s "${WEBHOOK_SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \n')"
SIGNATURE="$(printf '%s.%s.%s' "$ID" "$AT" "$BODY" |
  openssl dgst -sha256 -mac HMAC -macopt "hexkey:$KEY" -binary | openssl base64 -A)"

curl --silent --show-error --output /dev/null --write-out '%{http_code}\n' "$1" \
  -H 'content-type: application/json' -H "webhook-id: $ID" -H "webhook-timestamp: $AT" \
  -H "webhook-signature: v1,$SIGNATURE" --data-binary "$BODY"
