import type { ComponentChildren } from 'preact';
import type { OwnerBackups } from '../../contracts/owner.ts';
import { Problem, Shown, Tag } from '../shared/elements/parts.tsx';
import { bytes, moment } from '../shared/figures.ts';
import { linkTo } from '../shared/route.ts';
import { Resource, useResource } from '../shared/server/resource.ts';
import { texts } from '../texts.ts';
import { AgentsSection } from './agents.tsx';
import { AlertsSection } from './alerts.tsx';
import { AllSettings } from './all-settings.tsx';
import { SettingsNotes } from './data.tsx';
import { HealthSection } from './health.tsx';
import { LogsSection } from './logs.tsx';
import { ModelSection } from './model.tsx';
import { TrustSection } from './trust.tsx';
import { WhatsAppSection } from './whatsapp.tsx';

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
        <p class="hint">{words.now}</p>
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
  agents: AgentsSection,
  alerts: AlertsSection,
  backups: BackupsSection,
  health: HealthSection,
  logs: LogsSection,
  all: AllSettings,
};

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
