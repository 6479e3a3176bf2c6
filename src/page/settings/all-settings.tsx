import { useState } from 'preact/hooks';
import type { SettingView } from '../../contracts/owner.ts';
import { Shown, tell } from '../shared/elements/parts.tsx';
import { reasonOf } from '../shared/server/http.ts';
import { useResource } from '../shared/server/resource.ts';
import { texts } from '../texts.ts';
import { change, RestartNote, settings } from './data.tsx';

const words = texts.settings.all;
const GROUPS = Object.entries(words.groups);

/** Every setting by its purpose, with its source. */
export function AllSettings() {
  const [search, setSearch] = useState('');
  return (
    <Shown of={settings} loaded={useResource(settings)}>
      {({ settings: all, file }) => {
        const shown = matching(all, search);
        return (
          <>
            <input
              type="search"
              class="setting-search"
              aria-label={words.search}
              placeholder={words.searchHint}
              onInput={(event) => setSearch(event.currentTarget.value)}
            />
            {shown.length === 0 && <p class="hint">{words.nothing}</p>}
            {GROUPS.map(([group, { title }]) => (
              <Group key={group} title={title} settings={shown.filter((each) => groupOf(each) === group)} />
            ))}
            <p class="hint">{words.file(file)}</p>
          </>
        );
      }}
    </Shown>
  );
}

/** A group that the page does not know yet is shown with the rest of the instance. */
const groupOf = ({ group }: SettingView): string => (group in words.groups ? group : 'instance');

/** Settings with each of these words in their name or description; where none has them, in their purpose. */
function matching(all: readonly SettingView[], search: string): readonly SettingView[] {
  const wanted = search.toLowerCase().split(/\s+/).filter(Boolean);
  const having = (textOf: (setting: SettingView) => string) =>
    all.filter((setting) => wanted.every((word) => textOf(setting).toLowerCase().includes(word)));
  const own = ({ name, description }: SettingView) => `${name} ${name.replaceAll('_', ' ')} ${description}`;
  const found = having(own);
  if (found.length > 0) return found;
  return having((setting) => {
    const { title, about } = words.groups[groupOf(setting) as keyof typeof words.groups];
    return `${own(setting)} ${title} ${about}`;
  });
}

const Group = ({ title, settings: shown }: { title: string; settings: SettingView[] }) =>
  shown.length === 0 ? null : (
    <section class="section">
      <h2>{title}</h2>
      <ul class="rows">
        {shown.map((setting) => (
          <Setting key={setting.name} setting={setting} />
        ))}
      </ul>
    </section>
  );

function Setting({ setting }: { setting: SettingView }) {
  const { name, description, value, source, live, fixed } = setting;
  const [editing, setEditing] = useState(false);
  return (
    <li class="row setting">
      <div class="row-main">
        <p class="setting-name">{description}</p>
        {editing ? (
          <SettingForm setting={setting} done={() => setEditing(false)} />
        ) : (
          <p class="meta">
            <b>{value ?? words.unset}</b>
            {!fixed && <span>{words.source[source]}</span>}
            <span>{fixed ? words.fixed(words.source[source]) : live ? words.live : words.later}</span>
          </p>
        )}
        <p class="meta">
          <code>{name}</code>
        </p>
        <RestartNote names={[name]} />
      </div>
      {!fixed && !editing && (
        <button
          type="button"
          class="button small quiet"
          aria-label={`${words.change} ${name}`}
          onClick={() => setEditing(true)}
        >
          {words.change}
        </button>
      )}
    </li>
  );
}

function SettingForm({ setting: { name, value, secret, choices }, done }: { setting: SettingView; done: () => void }) {
  const write = async (text: string | null) => {
    try {
      await change({ [name]: text });
      tell(texts.saved);
      done();
    } catch (error) {
      tell(reasonOf(error), true);
    }
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void write(String(new FormData(event.currentTarget as HTMLFormElement).get('value')));
  };
  return (
    <form class="inline-form" onSubmit={submit}>
      {choices ? (
        <select name="value" aria-label={name} defaultValue={value ?? ''}>
          {choices.map((each) => (
            <option key={each} value={each} selected={each === value}>
              {each}
            </option>
          ))}
        </select>
      ) : (
        <input
          name="value"
          aria-label={name}
          defaultValue={secret ? '' : (value ?? '')}
          placeholder={secret ? words.secret : ''}
          autoComplete="off"
        />
      )}
      <button type="submit" class="button small primary">
        {texts.save}
      </button>
      <button type="button" class="button small quiet" onClick={() => void write(null)}>
        {words.reset}
      </button>
      <button type="button" class="button small quiet" onClick={done}>
        {texts.cancel}
      </button>
    </form>
  );
}
