import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mirrorEnvironment } from '../../../src/domain/tasks/registries/mirrors.ts';
import {
  cachedAddress,
  cachedHost,
  cacheSettings,
  originNamed,
  originOf,
} from '../../../src/domain/tasks/registries/registry-cache.ts';
import { holds } from '../../support/property.ts';

const mark = 'a'.repeat(32);

describe('the name of a registry in the cache', () => {
  it('has the origin of the registry, and leaves its paths as they are', () => {
    expect(cachedAddress('https://pypi.example.com/simple')).toBe(
      'http://pypi.example.com.443.https.fetch.internal/simple',
    );
    expect(cachedAddress('http://10.0.0.5:4873/npm/?a=1')).toBe('http://10.0.0.5.4873.http.fetch.internal/npm/?a=1');
    for (const none of ['https://[::1]/', 'ftp://a.example/', 'nonsense', `https://${'a.'.repeat(120)}example/`])
      expect(cachedAddress(none)).toBeNull();
  });

  it('means exactly this origin, and who named it', () => {
    const host = fc.domain().map((name) => name.toLowerCase());
    const origin = fc.record({
      scheme: fc.constantFrom('http' as const, 'https' as const),
      host,
      port: fc.integer({ min: 1, max: 65_535 }),
    });
    holds(
      fc.property(origin, origin, (files, by) => {
        for (const named of [undefined, { mark, by }]) {
          const name = cachedHost(files, named);
          if (name !== null) expect(originNamed(name)).toEqual(named ? { origin: files, named } : { origin: files });
        }
      }),
    );
  });

  it('means nothing in another form, and never what its mark was not made for', () => {
    const wrong = [
      'a.example',
      'fetch.internal',
      'a.example.443.fetch.internal',
      'a.example.0443.https.fetch.internal',
      '0x7f.1.443.https.fetch.internal',
    ];
    for (const name of [
      ...wrong,
      `${mark}.a.example.443.https.fetch.internal.evil.example`,
      'a..b.443.https.fetch.internal',
      'a.99999.https.fetch.internal',
    ])
      expect(originNamed(name)).toBeNull();
    // a host that looks like a name with a mark is read as one, so its mark is checked
    const host = `files.example.443.https.${mark}.a.example`;
    expect(originNamed(cachedHost({ scheme: 'https', host, port: 443 })!)?.named?.mark).toBe(mark);
    holds(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const found = originNamed(`${text}.fetch.internal`);
        if (found)
          expect(originOf(new URL(`${found.origin.scheme}://${found.origin.host}:${found.origin.port}`))).toEqual(
            found.origin,
          );
      }),
    );
  });
});

describe('package managers', () => {
  it('are told of the cache by what counts less than their projects', () => {
    const { variables, files } = cacheSettings(
      new Map([
        ['npm', 'https://npm.example/'],
        ['pip', 'https://pypi.example/simple'],
        ['go', 'https://go.example'],
        ['cargo', 'https://[::1]/'],
        ['other', 'https://other.example/'],
      ]),
    );
    expect(files).toEqual({
      npmrc: 'registry=http://npm.example.443.https.fetch.internal/\n',
      'pip.conf':
        '[global]\nindex-url = http://pypi.example.443.https.fetch.internal/simple\ntrusted-host = pypi.example.443.https.fetch.internal\n',
    });
    expect(variables).toEqual({
      npm_config_globalconfig: '/run/fetch/gate/npmrc',
      PIP_CONFIG_FILE: '/run/fetch/gate/pip.conf',
      GOPROXY: 'http://go.example.443.https.fetch.internal/,direct',
    });
  });

  it('find a mirror with TLS in the cache, and one without where it is', () => {
    const setting = 'npm=http://10.0.0.5:4873,pip=https://pypi.example/simple';
    expect(mirrorEnvironment(setting, true)).toEqual({
      npm_config_registry: 'http://10.0.0.5:4873/',
      PIP_INDEX_URL: 'http://pypi.example.443.https.fetch.internal/simple',
      UV_DEFAULT_INDEX: 'http://pypi.example.443.https.fetch.internal/simple',
      PIP_TRUSTED_HOST: 'pypi.example.443.https.fetch.internal',
      UV_INSECURE_HOST: 'pypi.example.443.https.fetch.internal',
    });
  });
});
