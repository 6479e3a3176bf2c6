/** Small repositories whose tests need no package of a registry. Each says by its files alone what it needs. */
export interface Repository {
  name: string;
  language: string;
  files: Record<string, string>;
  /** how its tests are run */
  command: string;
  /** what they print when they pass */
  passes: RegExp;
}

const python = {
  'sums.py': 'def add(a, b):\n    return a + b\n',
  'tests/__init__.py': '',
  'tests/test_sums.py':
    'import unittest\nfrom sums import add\n\n\nclass Sums(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n',
};
const goTest =
  'package sums\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal("wrong")\n\t}\n}\n';
const goSums = 'package sums\n\nfunc Add[T int | float64](a, b T) T { return a + b }\n';
const cargo = '[package]\nname = "sums"\nversion = "0.1.0"\nedition = "2021"\n';
const rustSums =
  'pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n';
const nodeTest =
  "import assert from 'node:assert';\nimport { test } from 'node:test';\ntest('adds', () => assert.equal(1 + 2, 3));\n";
const javaTest =
  'import static org.junit.Assert.assertEquals;\nimport org.junit.Test;\n\npublic class SumsTest {\n  @Test\n  public void adds() {\n    assertEquals(3, Sums.add(1, 2));\n  }\n}\n';
const javaSums = 'public class Sums {\n  static int add(int a, int b) {\n    return a + b;\n  }\n}\n';
const JUNIT = '/usr/share/java/junit4.jar:/usr/share/java/hamcrest-core.jar';
const cSums =
  '#include <assert.h>\n#include <stdio.h>\nint main(void) {\n  assert(1 + 2 == 3);\n  puts("all sums are right");\n  return 0;\n}\n';
const phpTest =
  '<?php\nuse PHPUnit\\Framework\\TestCase;\n\nfinal class SumsTest extends TestCase {\n  public function testAdds(): void {\n    $this->assertSame(3, 1 + 2);\n  }\n}\n';

export const REPOSITORIES: readonly Repository[] = [
  {
    name: 'node-usual',
    language: 'Node',
    files: {
      'package.json': '{"name":"sums","type":"module","scripts":{"test":"node --test"}}',
      'sums.test.js': nodeTest,
    },
    command: 'npm test',
    passes: /pass 1/,
  },
  {
    name: 'node-engines-20',
    language: 'Node',
    files: {
      'package.json':
        '{"name":"sums","type":"module","engines":{"node":"^20"},"scripts":{"test":"node --version && node --test"}}',
      'sums.test.js': nodeTest,
    },
    command: 'npm test',
    passes: /v20\.[\s\S]*pass 1/,
  },
  {
    name: 'node-nvmrc-18',
    language: 'Node',
    files: {
      '.nvmrc': 'lts/hydrogen\n',
      'package.json': '{"name":"sums","type":"module","scripts":{"test":"node --version && node --test"}}',
      'sums.test.js': nodeTest,
    },
    command: 'npm test',
    passes: /v18\.[\s\S]*pass 1/,
  },
  {
    name: 'python-unittest',
    language: 'Python',
    files: { ...python, 'pyproject.toml': '[project]\nname = "sums"\nversion = "1"\nrequires-python = ">=3.9"\n' },
    command: 'python -m unittest discover',
    passes: /OK/,
  },
  {
    name: 'python-pytest',
    language: 'Python',
    files: { ...python, 'pyproject.toml': '[project]\nname = "sums"\nversion = "1"\n\n[tool.pytest.ini_options]\n' },
    command: 'python3 -m pytest',
    passes: /1 passed/,
  },
  {
    name: 'python-venv-and-compiler',
    language: 'Python',
    files: {
      '.python-version': '3.11\n',
      'one.c':
        '#include <Python.h>\nstatic struct PyModuleDef one = {PyModuleDef_HEAD_INIT, "one"};\nPyMODINIT_FUNC PyInit_one(void) { return PyModule_Create(&one); }\n',
      'setup.py':
        'from setuptools import Extension, setup\nsetup(name="one", ext_modules=[Extension("one", ["one.c"])])\n',
    },
    command:
      'python -m venv --system-site-packages /tmp/v && . /tmp/v/bin/activate && python setup.py -q build_ext --inplace && python -c "import one; print(one)"',
    passes: /module 'one'/,
  },
  {
    name: 'go-module',
    language: 'Go',
    files: { 'go.mod': 'module sums\n\ngo 1.22\n', 'sums.go': goSums, 'sums_test.go': goTest },
    command: 'go test ./...',
    passes: /ok\s+sums/,
  },
  {
    name: 'go-race',
    language: 'Go',
    files: {
      '.tool-versions': 'golang 1.21.0\n',
      'go.mod': 'module sums\n\ngo 1.21\n',
      'sums.go': goSums,
      'sums_test.go': goTest,
    },
    command: 'go vet ./... && go test -race ./...',
    passes: /ok\s+sums/,
  },
  {
    name: 'rust-library',
    language: 'Rust',
    files: { 'Cargo.toml': cargo, 'src/lib.rs': rustSums },
    command: 'cargo test --offline',
    passes: /1 passed/,
  },
  {
    name: 'rust-toolchain',
    language: 'Rust',
    files: {
      'rust-toolchain.toml': '[toolchain]\nchannel = "stable"\ncomponents = ["clippy", "rustfmt"]\n',
      'Cargo.toml': cargo.replace('2021', '2024'),
      'src/lib.rs': rustSums,
    },
    command: 'cargo fmt --check && cargo clippy --offline -- -D warnings && cargo test --offline',
    passes: /1 passed/,
  },
  {
    name: 'java-junit',
    language: 'Java',
    files: { '.tool-versions': 'java temurin-17.0.2\n', 'Sums.java': javaSums, 'SumsTest.java': javaTest },
    command: `javac -d /tmp/out -cp ${JUNIT} *.java && java -cp ${JUNIT}:/tmp/out org.junit.runner.JUnitCore SumsTest`,
    passes: /OK \(1 test\)/,
  },
  {
    name: 'java-gradle',
    language: 'Java',
    files: {
      'build.gradle': `apply plugin: 'java'\ndependencies { testCompile files('${JUNIT.replace(':', "', '")}') }\ntest { testLogging { events 'passed' } }\n`,
      'src/main/java/Sums.java': javaSums,
      'src/test/java/SumsTest.java': javaTest,
    },
    command: 'gradle --offline --no-daemon test',
    passes: /BUILD SUCCESSFUL/,
  },
  {
    name: 'c-makefile',
    language: 'C',
    files: { 'sums.c': cSums, Makefile: 'test:\n\tcc -Wall -o /tmp/sums sums.c\n\t/tmp/sums\n' },
    command: 'make test',
    passes: /all sums are right/,
  },
  {
    name: 'cpp-cmake',
    language: 'C++',
    files: {
      'CMakeLists.txt':
        'cmake_minimum_required(VERSION 3.20)\nproject(sums CXX)\nadd_executable(sums src/sums.cpp)\nenable_testing()\nadd_test(NAME sums COMMAND sums)\n',
      'src/sums.cpp': cSums.replaceAll('.h>', '.h>').replace('int main(void)', 'int main()'),
    },
    command: 'cmake -G Ninja -B /tmp/build && cmake --build /tmp/build && ctest --test-dir /tmp/build',
    passes: /100% tests passed/,
  },
  {
    name: 'php-phpunit',
    language: 'PHP',
    files: { 'composer.json': '{"require":{"php":">=8.1"}}', 'tests/SumsTest.php': phpTest },
    command: 'phpunit tests',
    passes: /OK \(1 test, 1 assertion\)/,
  },
  {
    name: 'php-plain',
    language: 'PHP',
    files: { 'sums.php': '<?php\nassert(mb_strlen("äö") === 2);\necho "fine\\n";\n' },
    command: 'php -d zend.assertions=1 sums.php',
    passes: /fine/,
  },
  {
    name: 'ruby-minitest',
    language: 'Ruby',
    files: {
      Gemfile: 'source "https://rubygems.org"\nruby ">= 3.0"\ngem "minitest"\ngem "rake"\n',
      Rakefile: 'require "rake/testtask"\nRake::TestTask.new { |t| t.pattern = "test/*_test.rb" }\n',
      'test/sums_test.rb':
        'require "minitest/autorun"\nclass SumsTest < Minitest::Test\n  def test_adds\n    assert_equal 3, 1 + 2\n  end\nend\n',
    },
    command: 'bundle install --local --quiet && bundle exec rake test',
    passes: /1 runs, 1 assertions, 0 failures/,
  },
  {
    name: 'ruby-rspec',
    language: 'Ruby',
    files: {
      '.ruby-version': 'ruby-3.1.2\n',
      'spec/sums_spec.rb': 'RSpec.describe "sums" do\n  it("adds") { expect(1 + 2).to eq 3 }\nend\n',
    },
    command: 'rspec',
    passes: /1 example, 0 failures/,
  },
  {
    name: 'services-by-tool-versions',
    language: 'Python',
    files: {
      '.tool-versions': 'python 3.11\npostgres 15\nredis 7\nmysql 10\n',
      'check.sh':
        'set -e\npsql -h 127.0.0.1 -U postgres -tc "select 40 + 2 as answer"\nredis-cli -h 127.0.0.1 set a 1\nmariadb -h 127.0.0.1 -u root -e "select 6 * 7 as answer"\necho all there\n',
    },
    command: 'bash check.sh',
    passes: /42[\s\S]*OK[\s\S]*42[\s\S]*all there/,
  },
  {
    name: 'devcontainer-features',
    language: 'Go',
    files: {
      '.devcontainer/devcontainer.json':
        '{\n  // as an editor writes it\n  "name": "sums",\n  "features": { "ghcr.io/devcontainers/features/go:1": { "version": "1.24" } },\n  "containerEnv": { "GREETING": "hello from the file" },\n  "customizations": { "fetch": { "services": ["redis"] } },\n}\n',
      'go.mod': 'module sums\n\ngo 1.24\n',
      'sums.go': goSums,
      'sums_test.go': goTest,
    },
    command: 'go test ./... && redis-cli -h 127.0.0.1 ping && echo "$GREETING"',
    passes: /ok\s+sums[\s\S]*PONG[\s\S]*hello from the file/,
  },
];
