import { useState } from 'preact/hooks';
import type { OwnerSettings, SettingsChanged, SettingView } from '../../contracts/owner.ts';
import { Icon } from '../shared/elements/icons.tsx';
import { Problem, tell, WorkButton } from '../shared/elements/parts.tsx';
import { reasonOf, send } from '../shared/server/http.ts';
import { Resource, useResource } from '../shared/server/resource.ts';
import { texts } from '../texts.ts';

export const settings = new Resource<OwnerSettings>('/v1/owner/settings', ({ about }) => about === 'settings', 1_000);

/** Writes settings; null gives back the default. @throws ApiError that names each mistake */
export async function change(values: Record<string, string | null>): Promise<SettingsChanged> {
  const changed = await send<SettingsChanged>('/v1/owner/settings', {
    method: 'PATCH',
    body: { settings: values },
    attempts: 2,
  });
  settings.refresh();
  return changed;
}

/** What is wrong in the file, said on each page of the settings. */
export function SettingsNotes() {
  const { restart = [], problem = null } = useResource(settings).value ?? {};
  return (
    <>
      {problem !== null && <Problem text={texts.settings.wrongFile(problem)} />}
      <RestartNote names={restart} summed />
    </>
  );
}

/** Says beside these settings that a change waits for a restart, with the button for it. */
export function RestartNote({ names, summed = false }: { names: readonly string[]; summed?: boolean }) {
  const { restart = [], restartable = false, settings: all = [] } = useResource(settings).value ?? {};
  const waiting = names.filter((name) => restart.includes(name));
  if (waiting.length === 0) return null;
  const byHand = all.filter(({ name, needs_stop: stop }) => stop && waiting.includes(name));
  const button = restartable && byHand.length < waiting.length;
  return (
    <div class="warning restart" role="status">
      <Icon name="warning" size={16} />
      <span>
        {summed ? texts.settings.restart(waiting.length) : texts.settings.waits}{' '}
        {(byHand.length > 0 || !restartable) && texts.settings.restartHow}
      </span>
      {button && (
        <WorkButton
          label={texts.settings.restartNow}
          kind="primary"
          work={async () => {
            const { message } = await send<{ message: string }>('/v1/owner/restart', {});
            return message;
          }}
        />
      )}
    </div>
  );
}

interface Field {
  name: string;
  label: string;
  hint?: string;
  placeholder?: string;
  /** how a phone asks for it */
  kind?: 'text' | 'number' | 'password';
}

/** Fields for some settings, where they are needed. An empty secret stays as it is. */
export function SettingsForm({ fields, saved }: { fields: readonly Field[]; saved?: () => void }) {
  const all = useResource(settings).value?.settings;
  const [busy, setBusy] = useState(false);
  if (!all) return null;
  const views = fields.flatMap((field) => {
    const view = all.find(({ name }) => name === field.name);
    return view ? [{ ...field, view }] : [];
  });
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const values: Record<string, string | null> = {};
    for (const { name, view } of views) {
      const text = String(form.get(name) ?? '').trim();
      if (!view.fixed && !(view.secret && text === '') && text !== (view.value ?? '')) values[name] = text || null;
    }
    setBusy(true);
    try {
      if (Object.keys(values).length > 0) await change(values);
      tell(texts.saved);
      saved?.();
    } catch (error) {
      tell(reasonOf(error), true);
    }
    setBusy(false);
  };
  return (
    <form class="form" onSubmit={submit}>
      {views.map((field) => (
        <Field key={field.name} {...field} />
      ))}
      <button type="submit" class="button primary" disabled={busy}>
        {texts.save}
      </button>
      <RestartNote names={fields.map(({ name }) => name)} />
    </form>
  );
}

/** Fields for the settings that a text of the server names, so that nobody has to look for them. */
function SettingsNamedIn({ text }: { text: string }) {
  const all = useResource(settings).value?.settings ?? [];
  const named = all.filter(({ name, fixed }) => !fixed && new RegExp(`\\b${name}\\b`).test(text));
  if (named.length === 0) return null;
  return (
    <details class="named-settings">
      <summary>{texts.settings.setHere}</summary>
      <SettingsForm
        fields={named.map(({ name, description, secret }) => ({
          name,
          label: purposeOf(description),
          kind: secret ? 'password' : 'text',
        }))}
      />
    </details>
  );
}

/** A description is a sentence or two; its first words say what the setting is. */
const purposeOf = (description: string): string => description.split(/[;:.,(]/, 1)[0]!;

/** A text of the server with the purpose of each setting in place of its name. */
function usePurposes(text: string): string {
  const all = useResource(settings).value?.settings ?? [];
  return text.replace(/\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b/g, (name) => {
    const found = all.find((each) => each.name === name);
    return found ? `“${purposeOf(found.description)}”` : name;
  });
}

/** Why something does not work, with fields for what it lacks. */
export const Lacking = ({ text }: { text: string }) => (
  <div class="hint">
    <p>{usePurposes(text)}</p>
    <SettingsNamedIn text={text} />
  </div>
);

function Field({ name, label, hint, placeholder, kind = 'text', view }: Field & { view: SettingView }) {
  const shared = {
    name,
    defaultValue: view.secret ? '' : (view.value ?? ''),
    placeholder: view.secret && view.value !== null ? texts.settings.kept : placeholder,
    disabled: view.fixed,
    autoComplete: 'off',
  } as const;
  return (
    <label class="field">
      <span>{label}</span>
      <input
        type={kind === 'password' ? ('password' as 'text') : 'text'}
        inputMode={kind === 'number' ? 'decimal' : 'text'}
        {...shared}
      />
      {(hint || view.fixed) && (
        <small>{view.fixed ? texts.settings.all.fixed(texts.settings.all.source[view.source]) : hint}</small>
      )}
    </label>
  );
}
