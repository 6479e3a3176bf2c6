import { inline } from '../../domain/text/foreign-text.ts';
import { SecretScan, secretsSentence } from '../../domain/text/secrets.ts';
import { MINUTE } from '../../domain/time.ts';
import type { ToolContext } from '../tool.ts';
import { printed } from '../workspace/command-text.ts';
import type { Opened } from '../workspace/in-workspace.ts';
import { GIT } from './bundle.ts';

const LIMIT_MS = 5 * MINUTE;

/**
 * Prints what a commit of everything would add. It works in a git directory of its own, which borrows index and
 * objects: so it writes nothing into the workspace, and no filter or setting of the repository changes what is seen.
 */
const SCRIPT = [
  'place=$(mktemp -d)',
  'index=$("$@" rev-parse --git-path index)',
  'exclude=$("$@" rev-parse --git-path info/exclude)',
  'objects=$(realpath "$("$@" rev-parse --git-path objects)")',
  'ignored=$("$@" config core.excludesFile || true)',
  'head=$("$@" rev-parse --quiet --verify HEAD || "$@" hash-object -t tree /dev/null)',
  '"$@" init --quiet --bare --template= "$place"',
  'if [ -f "$index" ]; then cp "$index" "$place/index"; fi',
  'if [ -f "$exclude" ]; then mkdir "$place/info"; cp "$exclude" "$place/info/exclude"; fi',
  'export GIT_DIR=$place GIT_WORK_TREE=$PWD GIT_ALTERNATE_OBJECT_DIRECTORIES=$objects',
  'set -- "$@" -c "core.excludesFile=$ignored"',
  // known to the index, with no object
  '"$@" add --intent-to-add .',
  '"$@" diff -U0 --text --no-renames --no-color --no-ext-diff --no-textconv "$head"',
].join('\n');

/**
 * Why what is not committed yet must not be: a secret in a commit is much harder to take back than one in a file. Null:
 * it may be.
 */
export async function uncommittedSecrets(
  { kennel, path }: Opened,
  { config, signal }: ToolContext,
): Promise<string | null> {
  const scan = new SecretScan(config.GH_TOKEN ? [config.GH_TOKEN] : []);
  const result = await kennel.command({
    workspace: path,
    readOnly: true,
    argv: ['bash', '-ec', SCRIPT, 'scan', ...GIT],
    timeoutMs: LIMIT_MS,
    maxOutput: 4096,
    label: 'git-scan',
    onOutput: (stream, text) => {
      if (stream === 'stdout') scan.push(text);
    },
    signal,
  });
  if (result.code !== 0)
    return `What changed could not be searched for secrets, so nothing was pushed: ${printed(result.stderr).trim().slice(-300)}`;
  const findings = scan.end();
  return findings.length > 0 ? secretsSentence(findings, inline) : null;
}
