# Ends a cluster once no test uses it any more, however the tests ended, and removes its folder.
# sh keeper.sh FOLDER SECONDS: so long it may be of no use to anybody.
folder=$1
most=$2
idle=0
nobody() { [ -z "$(ls "$folder/users" 2>/dev/null)" ]; }

while [ -d "$folder/users" ]; do
    for user in "$folder"/users/*; do
        pid=${user##*/}
        [ "$pid" = '*' ] || kill -0 "$pid" 2>/dev/null || rm -f "$user"
    done
    if nobody; then idle=$((idle + 1)); else idle=0; fi
    if [ "$idle" -gt "$most" ]; then
        # Whoever comes now sees this and waits for how it ends.
        mkdir "$folder/closing"
        if nobody; then
            server=$(head -n 1 "$folder/data/postmaster.pid" 2>/dev/null)
            if [ -n "$server" ]; then
                kill -CONT "$server" 2>/dev/null
                kill -QUIT "$server" 2>/dev/null
                left=50
                while [ "$left" -gt 0 ] && kill -0 "$server" 2>/dev/null; do
                    sleep 0.1
                    left=$((left - 1))
                done
            fi
            rm -rf "$folder"
            exit
        fi
        rmdir "$folder/closing"
    fi
    sleep 1
done
