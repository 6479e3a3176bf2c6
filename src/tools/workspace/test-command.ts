/**
 * Test runners, as the first words of their command lines. Anything may follow, except what a shell would interpret.
 */
const RUNNERS: ReadonlyArray<readonly string[]> = [
  ...['npm', 'pnpm', 'yarn', 'bun'].flatMap((manager) => [
    [manager, 'test'],
    [manager, 't'],
    [manager, 'run', 'test'],
  ]),
  ...['vitest', 'jest', 'mocha', 'ava', 'tap'].flatMap((runner) => [['npx', runner], [runner]]),
  ['node', '--test'],
  ['deno', 'test'],
  ['go', 'test'],
  ['cargo', 'test'],
  ['cargo', 'nextest', 'run'],
  ['pytest'],
  ['python', '-m', 'pytest'],
  ['python3', '-m', 'pytest'],
  ['python', '-m', 'unittest'],
  ['python3', '-m', 'unittest'],
  ['uv', 'run', 'pytest'],
  ['tox'],
  ['make', 'test'],
  ['make', 'check'],
  ['mvn', 'test'],
  ['gradle', 'test'],
  ['./gradlew', 'test'],
  ['dotnet', 'test'],
  ['mix', 'test'],
  ['rspec'],
  ['bundle', 'exec', 'rspec'],
  ['phpunit'],
  ['swift', 'test'],
];

/** Whether a command line starts a test runner. It is run without a shell, where quotes only hold words together. */
export function isTestCommand(line: string): boolean {
  const words = splitWords(line);
  // npm run test:unit, yarn run test-all
  const script = words.findIndex((word, at) => at > 0 && words[at - 1] === 'run' && /^test[:.-][\w:.-]+$/.test(word));
  const plain = script === 2 ? [...words.slice(0, 2), 'test'] : words;
  return RUNNERS.some((runner) => runner.every((word, at) => plain[at] === word));
}

/** Words of a command line; `'…'` and `"…"` hold words with spaces. */
export const splitWords = (line: string): string[] =>
  [...line.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, (_, single?: string, double?: string) => single ?? double ?? ''),
  );
