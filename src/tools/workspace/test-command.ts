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

/** How programs say that a package is missing, or that they cannot load it without a network. */
const UNINSTALLED = [
  /Could not resolve host|Temporary failure in name resolution|EAI_AGAIN|ENOTFOUND|[Uu]nknown ?[Hh]ost|dns error/,
  /no such host|dial tcp: lookup|no required module provides package|module lookup disabled/,
  // a path that begins with a dot is a file of the project itself
  /Cannot find (?:module|package) ['"](?![./])|node_modules (?:missing|state file)|seem to have been installed/,
  /No module named|No matching distribution found|Could not find a version that satisfies/,
  /Could not find (?:gem|[^\n]{1,200} in (?:any of the sources|locally installed gems))|vendor\/(?:autoload|bin\/)/,
  /failed to (?:download|get) `|no matching package named/,
  /Could not (?:transfer artifact|resolve (?:dependencies|all))|No cached version of/,
];
/** A script of a project names programs of its packages. */
const NO_PROGRAM = /sh: (?:line )?\d{1,6}: \S{1,80}: (?:command )?not found|[Cc]ommand not found/;

/**
 * Whether a command failed because the packages of its project are not there. `testsEndedWith`: its exit code, when it
 * ran tests.
 */
export const lacksPackages = (output: string, testsEndedWith: number | null = null): boolean =>
  UNINSTALLED.some((pattern) => pattern.test(output)) ||
  (testsEndedWith !== null && (testsEndedWith === 127 || NO_PROGRAM.test(output)));
