import type Router from '@koa/router';
import { Validator } from '@seriousme/openapi-schema-validator';
import type Koa from 'koa';
import { describe, expect, it } from 'vitest';
import type { ApiDeps } from '../../../src/api/api-deps.ts';
import { openApi } from '../../../src/api/http/openapi.ts';
import { createRuntimeApi, runtimeEndpoints, runtimePort } from '../../../src/api/runtime-api.ts';
import { createStatusApi, statusEndpoints, statusPort } from '../../../src/api/status/status-api.ts';
import { loadConfig } from '../../../src/config.ts';

const deps = {
  config: loadConfig({ FETCH_HOME: '/nowhere' }, {}),
  token: 't',
  store: {},
  intake: {},
  version: '0.0.0',
  startedAt: new Date(),
} as ApiDeps;
const reload = () => ({ updated: [], restart: [] });

/** Method and path of what a server routes, by the router that it mounts; HEAD comes with GET. */
function routesOf(app: Koa): string[] {
  const routers = app.middleware.flatMap((middleware) => ('router' in middleware ? [middleware.router as Router] : []));
  return routers.flatMap(({ stack }) =>
    stack.flatMap(({ methods, path }) =>
      methods
        .filter((method) => method !== 'HEAD')
        .map((method) => `${method} ${String(path).replaceAll(/:(\w+)/g, '{$1}')}`),
    ),
  );
}

describe.each([
  ['the runtime API', runtimePort, runtimeEndpoints, () => createRuntimeApi(deps)],
  ['the status API', statusPort, statusEndpoints, () => createStatusApi({ ...deps, reload })],
] as const)('the document of %s', (_name, port, endpoints, app) => {
  const document = openApi(port, endpoints, '0.0.0') as {
    paths: Record<string, Record<string, object>>;
    components: { schemas: object };
  };

  it('names what is routed and nothing else', () => {
    const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(documented.toSorted()).toEqual(routesOf(app()).toSorted());
  });

  it('is what the schema of OpenAPI 3.1 takes', async () => {
    const validator = new Validator();
    // a copy as it goes over the wire: the validator looks references up in what it is given
    expect(await validator.validate(JSON.parse(JSON.stringify(document)))).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
    expect(
      await new Validator().validate({ ...document, paths: { '/v1': { get: { responses: 'none' } } } }),
    ).toMatchObject({ valid: false });
  });

  it('has only references that lead somewhere', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map(([, reference]) => reference);
    expect(references.length).toBeGreaterThan(0);
    for (const reference of references)
      expect(Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`)).toContain(
        reference,
      );
  });

  it('has examples that its own schemas take', () => {
    const bodies = endpoints.flatMap(({ body }) => body ?? []);
    for (const body of bodies) {
      const examples = body.meta()!.examples as unknown[];
      expect(examples.length).toBeGreaterThan(0);
      for (const example of examples) expect(body.safeParse(example)).toMatchObject({ success: true });
    }
  });
});
