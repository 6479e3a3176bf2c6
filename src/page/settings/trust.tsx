import { capabilitiesOf } from '../../contracts/channels.ts';
import type { ChatTrust, OwnerChats, OwnerDone, OwnerPeople } from '../../contracts/owner.ts';
import { ChatLink, Shown, Tag, tell, WorkButton } from '../shared/elements/parts.tsx';
import { reasonOf, send } from '../shared/server/http.ts';
import { Resource, useResource } from '../shared/server/resource.ts';
import { texts } from '../texts.ts';
import { change, SettingsForm } from './data.tsx';

const words = texts.settings.trust;
const chats = new Resource<OwnerChats>(
  '/v1/owner/chats',
  ({ about, kinds }) => about === 'settings' || kinds.includes('thread.updated'),
  2_000,
);
const people = new Resource<OwnerPeople>(
  '/v1/owner/people',
  ({ about }) => ['whatsapp', 'settings'].includes(about),
  2_000,
);

/** The autonomy of each chat, and the people who may write. */
export const TrustSection = () => (
  <>
    <section class="section">
      <h2>{words.autonomy}</h2>
      <p class="hint">{words.autonomyHint}</p>
      <Shown of={chats} loaded={useResource(chats)}>
        {({ chats: all }) => (
          <ul class="rows">
            {all.map((each) => (
              <Chat key={each.chat.thread_id} trust={each} />
            ))}
          </ul>
        )}
      </Shown>
    </section>
    <section class="section">
      <h2>{words.people}</h2>
      <Shown of={people} loaded={useResource(people)}>
        {(value) => <People people={value} />}
      </Shown>
    </section>
  </>
);

function Chat({ trust: { chat, autonomy, auto_approve: all, grants } }: { trust: ChatTrust }) {
  const path = `/v1/owner/chats/${encodeURIComponent(chat.thread_id)}`;
  const choose = (value: string) =>
    send(path, { method: 'PATCH', body: { autonomy: value } })
      .then(() => tell(texts.saved))
      .catch((error) => tell(reasonOf(error), true))
      .finally(() => chats.refresh());
  return (
    <li class="row trust">
      <div class="row-main">
        <ChatLink chat={chat} />
        {(all || grants.length > 0) && (
          <p class="meta">
            {all && <Tag tone="wait">{words.approveAll}</Tag>}
            {grants.length > 0 && (
              <span>
                {words.grants}: {grants.join(', ')}
              </span>
            )}
            <WorkButton
              label={words.askAgain}
              kind="quiet"
              work={async () => {
                await send(`${path}/ask-again`, { body: {} });
                chats.refresh();
              }}
            />
          </p>
        )}
      </div>
      <select
        aria-label={`${words.autonomy}: ${chat.name}`}
        value={autonomy}
        onChange={(event) => void choose(event.currentTarget.value)}
      >
        {Object.entries(words.levels).map(([level, name]) => (
          <option key={level} value={level}>
            {name}
          </option>
        ))}
      </select>
    </li>
  );
}

const People = ({ people: { owner, owner_name: ownerName, trusted, groups } }: { people: OwnerPeople }) => (
  <>
    <ul class="rows">
      {owner && (
        <li class="row">
          <div class="row-main">
            <bdi>{ownerName ?? `+${owner}`}</bdi> {ownerName && <span class="hint">+{owner}</span>}
          </div>
          <Tag tone="good">{words.owner}</Tag>
        </li>
      )}
      {trusted.map(({ phone, name, by_setting: fixed, shares }) => (
        <li key={phone} class="row">
          <div class="row-main">
            <bdi>{name}</bdi> {!name.startsWith('+') && <span class="hint">+{phone}</span>}{' '}
            {shares.length > 0 && <span class="hint">{`${words.shares} ${shares.join(', ')}`}</span>}
          </div>
          {fixed ? (
            <WorkButton
              label={texts.actions.remove}
              kind="quiet"
              sure={texts.sure.remove}
              work={async () => {
                const left = trusted.filter((each) => each.by_setting && each.phone !== phone);
                await change({ TRUSTED_PHONE_NUMBERS: left.map((each) => each.phone).join(',') || null });
                people.refresh();
              }}
            />
          ) : (
            <WorkButton
              label={texts.actions.remove}
              kind="quiet"
              sure={texts.sure.remove}
              work={async () => {
                await send(`/v1/owner/people/${encodeURIComponent(phone)}`, { method: 'DELETE' });
                people.refresh();
              }}
            />
          )}
        </li>
      ))}
      {!owner && trusted.length === 0 && <li class="row hint">{words.noPeople}</li>}
    </ul>
    <AddPerson />
    <details class="card">
      <summary>{words.ownerNumber}</summary>
      <SettingsForm
        fields={[
          { name: 'FETCH_USER_NAME', label: words.yourName },
          { name: 'OWNER_PHONE_NUMBER', label: words.ownerPhone, hint: words.ownerHint },
        ]}
        saved={() => people.refresh()}
      />
    </details>
    <h3>{words.groups}</h3>
    {groups.length === 0 ? (
      <p class="hint">{words.noGroups}</p>
    ) : (
      <ul class="rows">
        {groups.map((group) => (
          <Group key={`${group.channel} ${group.name} ${group.thread_id}`} group={group} />
        ))}
      </ul>
    )}
  </>
);

function Group({ group: { name, channel, members, answered } }: { group: OwnerPeople['groups'][number] }) {
  const label = capabilitiesOf(channel).label;
  return (
    <li class="row">
      <div class="row-main">
        <bdi>{name}</bdi> <span class="hint">{label}</span>{' '}
        {members !== null && <span class="hint">{words.members(members)}</span>}
        {answered && <Tag tone="good">{words.answered}</Tag>}
      </div>
      <WorkButton
        label={answered ? words.silence : words.answer}
        kind="quiet"
        work={async () => {
          const body = { group: `${name} (${label})`, answered: !answered };
          const { message } = await send<OwnerDone>('/v1/owner/groups', { body });
          tell(message);
          people.refresh();
        }}
      />
    </li>
  );
}

function AddPerson() {
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    try {
      await send('/v1/owner/people', {
        body: { phone: String(new FormData(form).get('phone')).replace(/[^\d]/g, '') },
      });
      form.reset();
      people.refresh();
    } catch (error) {
      tell(reasonOf(error), true);
    }
  };
  return (
    <form class="inline-form add" onSubmit={submit}>
      <input
        name="phone"
        type="tel"
        aria-label={words.phone}
        placeholder="+49 170 1234567"
        autoComplete="off"
        required
      />
      <button type="submit" class="button">
        {words.add}
      </button>
    </form>
  );
}
