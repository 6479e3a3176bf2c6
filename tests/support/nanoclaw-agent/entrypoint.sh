#!/bin/sh
# As the image of NanoClaw does: stdin goes to a file, and the program reads it from there.
set -e
cat > /tmp/input.json
exec node /app/agent.mjs < /tmp/input.json
