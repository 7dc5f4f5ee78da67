#!/bin/sh
# The least that is an MCP server.
while read -r line; do
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    case $line in
        *'"initialize"'*) result='{"protocolVersion":"2025-11-25","serverInfo":{"name":"tiny","version":"1"},"capabilities":{"tools":{}}}' ;;
        *'"tools/list"'*) result='{"tools":[{"name":"say","inputSchema":{"type":"object"}}]}' ;;
        *'"tools/call"'*) result='{"content":[{"type":"text","text":"tiny"}]}' ;;
        *'"ping"'*) result='{}' ;;
        *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
