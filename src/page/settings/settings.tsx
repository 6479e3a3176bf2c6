import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { OwnerAgents, OwnerBackups, OwnerDoctor, OwnerTemporal } from '../../contracts/owner.ts';
import { Empty, Problem, Shown, Tag, tell, WorkButton } from '../shared/elements/parts.tsx';
import { bytes, moment } from '../shared/figures.ts';
import { linkTo } from '../shared/route.ts';
import { call, reasonOf } from '../shared/server/http.ts';
import { Resource, useResource } from '../shared/server/resource.ts';
import { texts } from '../texts.ts';
import { AlertsSection } from './alerts.tsx';
import { AllSettings } from './all-settings.tsx';
import { Lacking, SettingsForm, SettingsNotes } from './data.tsx';
import { LogsSection } from './logs.tsx';
import { ModelSection } from './model.tsx';
import { TelegramSection } from './telegram.tsx';
import { TrustSection } from './trust.tsx';
import { WhatsAppSection } from './whatsapp.tsx';

const agentWords = texts.settings.agents;
const agents = new Resource<OwnerAgents>('/v1/owner/agents', ({ about }) => about === 'agents', 2_000);

const AgentsSection = () => (
  <Shown of={agents} loaded={useResource(agents)}>
    {({ hosts }) => (
      <div class="cards">
        {hosts.length === 0 && <Empty title={agentWords.none} icon="tasks" />}
        {hosts.map(({ host, alive, problem, slots, agents: all }) => (
          <article key={host} class="card" aria-label={host}>
            <h2>{host}</h2>
            <p class="meta">
              <Tag tone={alive ? 'good' : 'plain'}>{alive ? agentWords.alive : agentWords.away}</Tag>
              <span>{agentWords.slots(slots)}</span>
            </p>
            {problem && <p class="turn-note bad">{problem}</p>}
            <ul class="plain-list">
              {all.map(({ name, label, ready, why }) => (
                <li key={name} class="egress-rule">
                  <Tag tone={ready ? 'good' : 'plain'}>{ready ? agentWords.ready : agentWords.notReady}</Tag>
                  <span>{label}</span>
                  {why && <Lacking text={why} />}
                </li>
              ))}
            </ul>
          </article>
        ))}
      </div>
    )}
  </Shown>
);

const healthWords = texts.settings.health;
const TONES = { ok: 'good', warning: 'wait', missing: 'bad' } as const;

/** The findings of `fetch doctor`, and the address of the Web UI. */
function HealthSection() {
  const [report, setReport] = useState<OwnerDoctor | null>(null);
  return (
    <div class="card">
      <div class="buttons">
        <WorkButton
          label={healthWords.run}
          kind="primary"
          work={async () => {
            tell(healthWords.running);
            setReport(await call<OwnerDoctor>('/v1/owner/doctor'));
          }}
        />
        <WorkButton label={healthWords.openTemporal} icon="external" kind="quiet" work={() => openTemporal()} />
      </div>
      {report?.ok && <p class="turn-note good">{healthWords.ok}</p>}
      <ul class="plain-list" aria-live="polite">
        {report?.findings.map(({ name, state, version, detail, mend }) => (
          <li key={name} class="finding">
            <Tag tone={TONES[state]}>{healthWords.states[state]}</Tag>
            <div>
              <strong>{name}</strong> {version} <span class="hint">{detail}</span>
              {mend && <Lacking text={mend} />}
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

const words = texts.settings.backups;
const backups = new Resource<OwnerBackups>('/v1/owner/backups', ({ about }) => about === 'settings', 5_000);

const BackupsSection = () => (
  <Shown of={backups} loaded={useResource(backups)}>
    {({ folder, nightly, backups: all, problem }) => (
      <div class="card">
        <p class="meta">
          <Tag tone={nightly ? 'good' : 'wait'}>{nightly ? words.nightly : words.off}</Tag>
          {folder && <code>{folder}</code>}
        </p>
        {problem && <Problem text={problem} />}
        {nightly && all.length === 0 && <p class="hint">{words.none}</p>}
        <ul class="plain-list">
          {all.map(({ name, at, bytes: size }) => (
            <li key={name}>
              {moment(Date.parse(at))} <code>{name}</code> <span class="hint">{bytes(size)}</span>
            </li>
          ))}
        </ul>
        <h2>{nightly ? words.change : words.begin}</h2>
        <SettingsForm
          fields={[
            {
              name: 'FETCH_BACKUP_FOLDER',
              label: words.folder,
              hint: words.folderHint,
              placeholder: '/media/disk/fetch',
            },
            { name: 'FETCH_BACKUP_KEY', label: words.key, hint: words.keyHint, kind: 'password' },
            { name: 'FETCH_BACKUP_AT', label: words.at },
          ]}
          saved={() => backups.refresh()}
        />
      </div>
    )}
  </Shown>
);

type Section = keyof typeof texts.settings.sections;
const SECTIONS = Object.keys(texts.settings.sections) as Section[];
const VIEWS: Record<Section, () => ComponentChildren> = {
  model: ModelSection,
  trust: TrustSection,
  whatsapp: WhatsAppSection,
  telegram: TelegramSection,
  agents: AgentsSection,
  alerts: AlertsSection,
  backups: BackupsSection,
  health: HealthSection,
  logs: LogsSection,
  all: AllSettings,
};

/** On a phone the tabs are wider than the screen. */
const showTab = (tab: HTMLElement | null): void => tab?.scrollIntoView({ inline: 'center', block: 'nearest' });

export function SettingsPart({ rest: [first] }: { rest: string[] }) {
  const current = SECTIONS.find((each) => each === first) ?? 'model';
  const View = VIEWS[current];
  return (
    <div class="page-column">
      <h1>{texts.parts.settings}</h1>
      <nav class="tabs settings-tabs" aria-label={texts.parts.settings}>
        {SECTIONS.map((each) => (
          <a
            key={each}
            class="tab"
            href={linkTo('settings', each)}
            aria-current={each === current ? 'page' : undefined}
            ref={each === current ? showTab : undefined}
          >
            {texts.settings.sections[each]}
          </a>
        ))}
      </nav>
      <SettingsNotes />
      <section aria-label={texts.settings.sections[current]}>
        <View />
      </section>
    </div>
  );
}
