import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/**
 * `npm run long-forms [-- COMMIT]`: which tests with commands of their own a change needs, and because of which files.
 * The change is what differs from the commit (default: the last common one with `main`), with what is not committed
 * yet.
 */

/** Parts of paths, for each command. Its own tests are among them. */
const LONG_FORMS: Record<string, RegExp> = {
  'npm run test-agents': /^kennel\/(agents|runner)\/|\/agents?[/.-]|\/providers\/|adapters\/kennel\/(gate|runs|freeze)/,
  'npm run test-environments': /^kennel\/|environments?[/.-]|\/images\/|registr(y|ies)|setup-script|language-/,
  'npm run test-hosts': /\/hosts?[/.-]|leases?\.|whatsapp\/(account|auth)|adapters\/kennel\/freeze|store\/postgres\//,
  'npm run chaos -- --help': /^tests\/(chaos|stories)\/|store\/.*transaction|cli\/instance\//,
  'npm run chaos -- --strict': /^src\/adapters\/model\/(native|request|responses|stream)\/|steps\/transcript/,
  'npm run deployment-soak': /^src\/workflows\/|^tests\/replay\//,
  'FETCH_TEST_SOAK=all npx vitest run tests/chaos/ship.test.ts': /\/shipment\/|\/shipping\/|adapters\/(github|forge)/,
};
const SHOWN = 3;

const git = (...args: string[]): string[] =>
  execFileSync('git', args, { cwd: fileURLToPath(new URL('..', import.meta.url)), encoding: 'utf8' })
    .split('\n')
    .filter(Boolean);

const from = process.argv[2] ?? git('merge-base', 'HEAD', 'main')[0]!;
const changed = [
  ...new Set([...git('diff', '--name-only', from), ...git('ls-files', '--others', '--exclude-standard')]),
];
const needed = Object.entries(LONG_FORMS).flatMap(([command, path]) => {
  const files = changed.filter((file) => path.test(file));
  return files.length > 0 ? [{ command, files }] : [];
});
for (const { command, files } of needed) {
  const more = files.length > SHOWN ? ` and ${files.length - SHOWN} more` : '';
  console.log(`${command.padEnd(27)} ${files.slice(0, SHOWN).join(', ')}${more}`);
}
if (needed.length === 0) console.log(`The ${changed.length} changed files need none of the long forms.`);
