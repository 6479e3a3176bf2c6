import { useState } from 'preact/hooks';
import type { OwnerDoctor, OwnerTemporal } from '../../contracts/owner.ts';
import { tell } from '../shared/elements/notices.tsx';
import { Tag, WorkButton } from '../shared/elements/parts.tsx';
import { call, reasonOf } from '../shared/server/http.ts';
import { texts } from '../texts.ts';

const words = texts.settings.health;
const TONES = { ok: 'good', warning: 'wait', missing: 'bad' } as const;

/** What `fetch doctor` says, and the way to the engine. */
export function HealthSection() {
  const [report, setReport] = useState<OwnerDoctor | null>(null);
  return (
    <div class="card">
      <div class="buttons">
        <WorkButton
          label={words.run}
          kind="primary"
          work={async () => {
            tell(words.running);
            setReport(await call<OwnerDoctor>('/v1/owner/doctor'));
          }}
        />
        <WorkButton label={words.openTemporal} icon="external" kind="quiet" work={() => openTemporal()} />
      </div>
      {report?.ok && <p class="turn-note good">{words.ok}</p>}
      <ul class="plain-list" aria-live="polite">
        {report?.findings.map(({ name, state, version, detail, mend }) => (
          <li key={name} class="finding">
            <Tag tone={TONES[state]}>{words.states[state]}</Tag>
            <div>
              <strong>{name}</strong> {version} <span class="hint">{detail}</span>
              {mend && <p>{mend}</p>}
            </div>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The address lets the browser in, so it is asked for when it is wanted and not kept on the page. */
async function openTemporal(workflow?: string): Promise<string | undefined> {
  // opened before the answer, because browsers allow a window only while a person clicks
  const tab = window.open('', '_blank');
  try {
    const { url, why } = await call<OwnerTemporal>(
      `/v1/owner/temporal${workflow ? `?workflow=${encodeURIComponent(workflow)}` : ''}`,
    );
    if (url === null || !tab) throw new Error(why ?? texts.unreachable);
    tab.opener = null;
    tab.location.href = url;
    return undefined;
  } catch (error) {
    tab?.close();
    tell(reasonOf(error), true);
    return undefined;
  }
}
