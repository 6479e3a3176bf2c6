import { useState } from 'preact/hooks';
import type { SettingView } from '../../contracts/owner.ts';
import { Shown, tell } from '../shared/elements/parts.tsx';
import { reasonOf } from '../shared/server/http.ts';
import { useResource } from '../shared/server/resource.ts';
import { texts } from '../texts.ts';
import { change, settings } from './data.tsx';

const words = texts.settings.all;

/** Every setting with its source. */
export function AllSettings() {
  const [search, setSearch] = useState('');
  return (
    <Shown of={settings} loaded={useResource(settings)}>
      {({ settings: all, file }) => (
        <>
          <input
            type="search"
            class="setting-search"
            aria-label={words.search}
            placeholder={words.search}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
          <p class="hint">{words.file(file)}</p>
          <ul class="rows">
            {all
              .filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(search.toLowerCase()))
              .map((setting) => (
                <Setting key={setting.name} setting={setting} />
              ))}
          </ul>
        </>
      )}
    </Shown>
  );
}

function Setting({ setting }: { setting: SettingView }) {
  const { name, description, value, source, live, fixed } = setting;
  const [editing, setEditing] = useState(false);
  return (
    <li class="row setting">
      <div class="row-main">
        <p>
          <code class="setting-name">{name}</code>
        </p>
        <p class="hint">{description}</p>
        {editing ? (
          <SettingForm setting={setting} done={() => setEditing(false)} />
        ) : (
          <p class="meta">
            <code>{value ?? words.unset}</code>
            <span>{words.source[source]}</span>
            <span>{fixed ? words.fixed(words.source[source]) : live ? words.live : words.later}</span>
          </p>
        )}
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
      const { restart } = await change({ [name]: text });
      tell(restart.length > 0 ? texts.settings.restart(restart.join(', ')) : texts.saved);
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
