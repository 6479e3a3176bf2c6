import { expect, it } from 'vitest';
import { lacksPackages } from '../../../src/tools/workspace/shell.ts';

it.each([
  "Error: Cannot find module 'express'",
  "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'vitest' imported from /workspace/a.js",
  "ModuleNotFoundError: No module named 'flask'",
  'main.go:4:2: no required module provides package example.com/left; to add it:',
  'go: example.com/left@v1.0.0: Get "https://proxy.golang.org/": dial tcp: lookup proxy.golang.org: no such host',
  'error: failed to get `left` as a dependency of package `demo`',
  'warning: spurious network error: [6] Could not resolve hostname (Could not resolve host: index.crates.io)',
  'Could not find rake-13.0.6, minitest-5.1 in locally installed gems',
  '[ERROR] Could not transfer artifact org.junit:junit:pom:5 from/to central: Unknown host repo.maven.apache.org',
  '> Could not resolve all files for configuration ":testCompileClasspath".',
  'error: Failed to fetch: https://pypi.org/simple/x/ Caused by: dns error: failed to lookup address information',
  'PHP Fatal error: Failed opening required /workspace/vendor/autoload.php',
  "Usage Error: The project in package.json doesn't seem to have been installed - running an install there might help",
])('%s: packages are missing', (output) => {
  expect(lacksPackages(output)).toBe(true);
});

it.each(["Error: Cannot find module './left.js'", "Cannot find module '/workspace/src/a'", 'AssertionError: 1 !== 2'])(
  '%s: the project itself is wrong',
  (output) => {
    expect(lacksPackages(output, 1)).toBe(false);
  },
);

it('a program that is missing means packages only where tests were to run', () => {
  expect(lacksPackages('sh: 1: vitest: not found', 1)).toBe(true);
  expect(lacksPackages('Command not found: pytest', 1)).toBe(true);
  expect(lacksPackages('', 127)).toBe(true);
  expect(lacksPackages('bash: line 1: foo: command not found')).toBe(false);
});
