import { useState } from 'preact/hooks';
import type { OwnerTelegram } from '../../contracts/owner.ts';
import { Shown, Tag, WorkButton } from '../shared/elements/parts.tsx';
import { send } from '../shared/server/http.ts';
import { Resource, useResource } from '../shared/server/resource.ts';
import { Markdown } from '../shared/text/markdown-view.tsx';
import { texts } from '../texts.ts';
import { SettingsForm } from './data.tsx';

const words = texts.settings.telegram;
const telegram = new Resource<OwnerTelegram>(
  '/v1/owner/telegram',
  ({ about }) => ['settings', 'agents'].includes(about),
  2_000,
);

/** The bot: its token, how it stands, and the link into the owner's chat with it. */
export const TelegramSection = () => (
  <Shown of={telegram} loaded={useResource(telegram)}>
    {(value) => <Bot telegram={value} />}
  </Shown>
);

function Bot({ telegram: { token, bot, people } }: { telegram: OwnerTelegram }) {
  const [told, setTold] = useState('');
  return (
    <div class="card">
      <p class="meta">
        <Tag tone={bot?.problem ? 'bad' : bot ? 'good' : 'plain'}>
          {bot?.problem ? words.problem : bot ? words.works : token ? words.starting : words.none}
        </Tag>
        {bot?.username && <span>@{bot.username}</span>}
        {people.map(({ name, role }) => (
          <span key={name}>{role === 'owner' ? words.owner(name) : name}</span>
        ))}
      </p>
      {bot?.problem && <p class="turn-note bad">{bot.problem}</p>}
      {!token && <p class="hint">{words.how}</p>}
      <SettingsForm
        fields={[{ name: 'FETCH_TELEGRAM_TOKEN', label: words.token, placeholder: '123456:ABC-DEF', kind: 'password' }]}
        saved={() => telegram.refresh()}
      />
      {token && (
        <div class="buttons">
          <WorkButton
            label={words.pair}
            work={async () => {
              setTold((await send<{ message: string }>('/v1/owner/telegram/pair', {})).message);
            }}
          />
        </div>
      )}
      <div aria-live="polite">{told && <Markdown text={told} />}</div>
    </div>
  );
}
