import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readTests } from '../../../src/domain/tasks/checks/test-results.ts';

/** Outputs of real runners: tests that pass, fail, are skipped, print something, or cannot be loaded. */

const read = (name: string): string[] =>
  readTests(readFileSync(new URL(`runner-outputs/${name}.txt`, import.meta.url), 'utf8')).map(
    ({ name, outcome }) => `${{ passed: '+', failed: '-', skipped: '~' }[outcome]} ${name}`,
  );

const RECORDED: Record<string, string[]> = {
  'cargo-quiet': ['- tests::fails', '- tests::panics_not'],
  cargo: [
    '+ tests::adds',
    '+ tests::panics - should panic',
    '- tests::fails',
    '~ tests::skips',
    '- tests::panics_not - should panic',
    '+ whole',
    '+ src/lib.rs - add (line 1)',
  ],
  'go-json': [
    '+ example.com/shop/a TestAdds',
    '- example.com/shop/a TestFails',
    '~ example.com/shop/a TestSkips',
    '+ example.com/shop/a TestTable/one',
    '- example.com/shop/a TestTable/two_words',
    '+ example.com/shop/a TestPrints',
    '+ example.com/shop/a FuzzA/seed#0',
    '- example.com/shop/c',
    '- example.com/shop/d TestPanics',
  ],
  jest: [
    '+ ./cart.test.js',
    '+ ./other.test.js',
    '- ./broken.test.js',
    '- ./cart.test.js > cart › fails',
    '+ ./other.test.js > fake',
  ],
  'maven-junit': [
    '+ shop.CartTest > adds',
    '+ shop.CartTest > each(int)[1]',
    '- shop.CartTest > each(int)[2]',
    '- shop.CartTest > errs',
    '- shop.CartTest > fails',
    '+ shop.CartTest > named',
    '~ shop.CartTest > skips',
    '+ shop.CartTest$Inner > deep',
    '+ shop.OtherTest > works',
  ],
  mocha: ['+ adds', '- fails', '~ skips', '+ deep', '+ fake', '+ works'],
  'node-junit': [
    '- test > broken.test.mjs',
    '+ test > adds',
    '- test > fails',
    '~ test > skipped',
    '~ test > todo one',
    '~ test > todo fails',
    '+ group > inner # hash',
    '- group > inner fails',
    '+ group.deeper > deep',
    '+ with subtests > sub one',
    '- with subtests > sub two',
    '+ test > prints',
    '+ test > empty.test.mjs',
  ],
  'node-spec': [
    '- broken.test.mjs',
    '+ fake',
    '+ adds',
    '- fails',
    '~ skipped',
    '~ todo one',
    '+ group > inner # hash',
    '- group > inner fails',
    '+ group > deeper > deep',
    '+ with subtests > sub one',
    '- with subtests > sub two',
    '+ prints',
    '+ empty.test.mjs',
  ],
  'node-tap': [
    '- broken.test.mjs',
    '+ adds',
    '- fails',
    '~ skipped',
    '~ todo one',
    '~ todo fails',
    '+ group > inner # hash',
    '- group > inner fails',
    '+ group > deeper > deep',
    '+ with subtests > sub one',
    '- with subtests > sub two',
    '+ prints',
    '+ empty.test.mjs',
  ],
  pytest: [
    '+ test_cart.py::test_adds',
    '- test_cart.py::test_fails',
    '~ test_cart.py::test_skipped',
    '~ test_cart.py::test_xfail',
    '+ test_cart.py::test_xpass',
    '+ test_cart.py::test_param[1]',
    '- test_cart.py::test_param[2]',
    '+ test_cart.py::test_param[a b]',
    '+ test_cart.py::test_param[x - y]',
    '- test_cart.py::test_error',
    '+ test_cart.py::TestGroup::test_in_class',
    '~ test_cart.py::Old::test_expected',
    '~ test_cart.py::Old::test_old_skip',
    '- test_cart.py::Old::test_sub',
  ],
  unittest: [
    '- test_broken (unittest.loader._FailedTest.test_broken)',
    '+ test_adds (test_cart.Cart.test_adds)',
    '+ test_doc (test_cart.Cart.test_doc)',
    '- test_errs (test_cart.Cart.test_errs)',
    '~ test_expected (test_cart.Cart.test_expected)',
    '- test_fails (test_cart.Cart.test_fails)',
    '+ test_prints (test_cart.Cart.test_prints)',
    '~ test_skipped (test_cart.Cart.test_skipped)',
    '- test_unexpected (test_cart.Cart.test_unexpected)',
    '- setUpClass (test_cart.Setup)',
    '- test_sub (test_cart.Cart.test_sub)',
  ],
  'vitest-tap': [
    '- broken.test.ts',
    '+ cart.test.ts > cart > adds',
    '- cart.test.ts > cart > fails',
    '~ cart.test.ts > cart > skips',
    '~ cart.test.ts > cart > todo',
    '+ cart.test.ts > cart > deeper > deep',
    '- empty.test.ts',
    '+ other.test.ts > works',
    '~ skipped.test.ts > a',
  ],
  vitest: [
    '+ cart.test.ts',
    '+ cart.test.ts > adds',
    '- cart.test.ts > fails',
    '~ cart.test.ts > skips',
    '~ cart.test.ts > todo',
    '+ cart.test.ts > deep',
    '+ fake',
    '+ other.test.ts',
    '~ skipped.test.ts',
    '- broken.test.ts',
    '- empty.test.ts',
  ],
};

describe('recorded outputs of test runners', () => {
  it.each(Object.entries(RECORDED))('are read test by test: %s', (name, tests) => {
    expect(read(name)).toEqual(tests);
  });

  it('hold no time in a name, which would be another at each run', () => {
    const names = Object.keys(RECORDED).flatMap(read);
    expect(names.filter((name) => /\d ?m?s\b|time=/.test(name))).toEqual([]);
  });
});
