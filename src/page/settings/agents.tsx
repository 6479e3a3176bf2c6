import type { OwnerAgents } from '../../contracts/owner.ts';
import { Empty, Shown, Tag } from '../shared/elements/parts.tsx';
import { Resource, useResource } from '../shared/server/resource.ts';
import { texts } from '../texts.ts';

const words = texts.settings.agents;
const agents = new Resource<OwnerAgents>('/v1/owner/agents', ({ about }) => about === 'agents', 2_000);

export const AgentsSection = () => (
  <Shown of={agents} loaded={useResource(agents)}>
    {({ hosts }) => (
      <div class="cards">
        {hosts.length === 0 && <Empty title={words.none} icon="tasks" />}
        {hosts.map(({ host, alive, problem, slots, agents: all }) => (
          <article key={host} class="card" aria-label={host}>
            <h2>{host}</h2>
            <p class="meta">
              <Tag tone={alive ? 'good' : 'plain'}>{alive ? words.alive : words.away}</Tag>
              <span>{words.slots(slots)}</span>
            </p>
            {problem && <p class="turn-note bad">{problem}</p>}
            <ul class="plain-list">
              {all.map(({ name, label, ready, why }) => (
                <li key={name} class="egress-rule">
                  <Tag tone={ready ? 'good' : 'plain'}>{ready ? words.ready : words.notReady}</Tag>
                  <span>{label}</span>
                  {why && <span class="hint">{why}</span>}
                </li>
              ))}
            </ul>
          </article>
        ))}
      </div>
    )}
  </Shown>
);
