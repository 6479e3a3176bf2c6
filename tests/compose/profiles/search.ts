import { expect, test } from 'vitest';
import type { Config } from '../../../src/config.ts';
import { prepareCall } from '../../../src/tools/registry.ts';
import type { ToolContext } from '../../../src/tools/tool.ts';
import type { ComposedServer } from '../server.ts';

/**
 * What `web_search` gets from the service `searxng` with the settings of deploy/first-start.sh. Its engines cannot
 * reach the internet here.
 */
export function searchTests(server: () => ComposedServer): void {
  const search = async (query: string) => {
    const call = prepareCall('web_search', JSON.stringify({ query }));
    if (!call.ok) throw new Error(call.error);
    const config = { FETCH_SEARXNG_URL: `http://${await server().addressOf('searxng')}:8080` } as Config;
    return await call.tool.run(call.args as never, { signal: new AbortController().signal, config } as ToolContext);
  };

  test('the search service answers in JSON, names engines that do not answer, and limits nobody', async () => {
    const outcomes = await Promise.all(Array.from({ length: 20 }, (_, n) => search(`durable ${n}`)));
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ ok: true, output: expect.stringMatching(/^Nothing was found/) });
    // those that were asked a moment ago and did not answer may be left out, and are not named then
    expect(outcomes.filter(({ output }) => /These engines did not answer: \w/.test(output))).not.toEqual([]);
  });
}
