import type { ComponentChildren } from 'preact';
import { linkTo } from '../shared/route.ts';
import { texts } from '../texts.ts';
import { AgentsSection } from './agents.tsx';
import { AlertsSection } from './alerts.tsx';
import { AllSettings } from './all-settings.tsx';
import { BackupsSection } from './backups.tsx';
import { SettingsNotes } from './data.tsx';
import { HealthSection } from './health.tsx';
import { LogsSection } from './logs.tsx';
import { ModelSection } from './model.tsx';
import { TrustSection } from './trust.tsx';
import { WhatsAppSection } from './whatsapp.tsx';

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
