import { describe, expect, it } from 'vitest';
import { addressWarnings, hostWarnings } from '../../../src/domain/text/look-alikes.ts';

const about = (host: string, port = 443) => hostWarnings({ host, port }).join(' ');

describe('a question about a host', () => {
  it.each([
    ['github.com.evil.test', /is not github\.com: .* \(evil\.test\)/],
    ['login-github.com', /is not github\.com/],
    ['githib.com', /is not github\.com/],
    ['gihtub.com', /is not github\.com/],
    ['g1thub.com', /is not github\.com/],
    ['paypa1.com', /is not paypal\.com/],
    ['stripe-login.com', /is not stripe\.com/],
    ['rnicrosoft.com', /is not microsoft\.com/],
    ['registry.npmjs.org.co', /is not npmjs\.org/],
    ['bank.example.com.evil.test', /only looks like bank\.example\.com/],
    ['xn--pypal-4ve.com', /letters of another alphabet/],
    ['раypal.com', /letters of another alphabet/],
    ['203.0.113.9', /is a number and no name/],
    ['2130706433', /is a number/],
    ['0x7f.1', /is a number/],
    ['0177.0.0.1', /is a number/],
    ['2001:db8::1', /is a number/],
    ['[::1]', /is a number/],
  ])('marks %s', (host, like) => {
    expect(about(host)).toMatch(like);
  });

  it.each([
    'github.com',
    'api.github.com',
    'raw.githubusercontent.com',
    'registry.npmjs.org',
    'files.pythonhosted.org',
    'example.com.au',
    'packages.example.com',
    'deb.debian.org',
    'proxy.golang.org',
    'hooks.example',
    'static.crates.io',
  ])('says nothing about %s', (host) => {
    expect(about(host)).toBe('');
  });

  it('marks a port that is unusual', () => {
    expect(about('example.com', 8443)).toBe('Port 8443 is an unusual one.');
    expect([80, 443, 22].map((port) => about('example.com', port))).toEqual(['', '', '']);
  });
});

describe('a question about an address', () => {
  it.each([
    ['https://github.com@evil.test/a', /before the @ is no address\. It leads to evil\.test/],
    ['https://github.com:443@evil.test/a', /It leads to evil\.test/],
    ['https://evil.test:8443/a', /Port 8443/],
    ['http://0x7f000001/', /is a number/],
    ['http://[::ffff:7f00:1]:8080/', /is a number.*Port 8080/],
  ])('marks %s', (address, like) => {
    expect(addressWarnings(address).join(' ')).toMatch(like);
  });

  it('says nothing about an ordinary one, or about what is no address', () => {
    expect(addressWarnings('https://example.com/a@b?c=d@e#f')).toEqual([]);
    expect(addressWarnings('/home/ada/shop')).toEqual([]);
  });
});
