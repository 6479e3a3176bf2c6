import { useState } from 'preact/hooks';
import type { ModelCheck, OwnerSettings } from '../../contracts/owner.ts';
import { Problem, Shown, tell } from '../shared/elements/parts.tsx';
import { call, reasonOf } from '../shared/server/http.ts';
import { useResource } from '../shared/server/resource.ts';
import { texts } from '../texts.ts';
import { change, RestartNote, settings } from './data.tsx';

const words = texts.settings.model;

/** Which model answers. It is saved once it has used a tool and answered. */
export const ModelSection = () => (
  <Shown of={settings} loaded={useResource(settings)}>
    {(value) => <ModelForm settings={value} />}
  </Shown>
);

function ModelForm({ settings: { settings: all } }: { settings: OwnerSettings }) {
  const settingOf = (name: string): string => all.find((each) => each.name === name)?.value ?? '';
  const [check, setCheck] = useState<ModelCheck | null>(null);
  const [busy, setBusy] = useState(false);
  const keyIsSet = settingOf('OPENAI_API_KEY') !== '' || settingOf('OPENROUTER_API_KEY') !== '';
  const practice = !keyIsSet && settingOf('OPENAI_BASE_URL') === '';
  // nothing is left that could be asked
  const isPractice = ({ key, address }: { key: string; address: string }) => !keyIsSet && key === '' && address === '';
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const given = (name: string): string => String(form.get(name) ?? '').trim();
    const wish = (event.submitter as HTMLButtonElement | null)?.name;
    const values = { key: given('key'), address: given('address'), model: given('model') };
    setBusy(true);
    try {
      if (wish === 'anyway' || (wish === 'save' && isPractice(values))) {
        await saved(values);
        setCheck(null);
      } else {
        const found = await call<ModelCheck>('/v1/owner/settings/model/check', { method: 'POST', body: bodyOf(given) });
        setCheck(found);
        if (found.ok && wish === 'save') await saved(values);
      }
    } catch (error) {
      tell(reasonOf(error), true);
    }
    setBusy(false);
  };
  return (
    <form class="card form" onSubmit={submit}>
      {practice && <p class="hint">{words.practice}</p>}
      <label class="field">
        <span>{words.key}</span>
        <input name="key" type="password" autoComplete="off" placeholder={keyIsSet ? texts.settings.kept : ''} />
      </label>
      <label class="field">
        <span>{words.address}</span>
        <input name="address" inputMode="url" defaultValue={settingOf('OPENAI_BASE_URL')} autoComplete="off" />
        <small>{words.addressHint}</small>
      </label>
      <label class="field">
        <span>{words.model}</span>
        <input name="model" defaultValue={settingOf('AGENT_MODEL')} list="models" autoComplete="off" />
        <small>{check && check.models.length > 0 ? words.offered(check.models.length) : words.modelHint}</small>
        <datalist id="models">
          {check?.models.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </label>
      <div aria-live="polite">{busy ? <p class="hint">{words.checking}</p> : check && <Checked check={check} />}</div>
      <div class="buttons">
        <button type="submit" name="check" class="button" disabled={busy}>
          {words.check}
        </button>
        <button type="submit" name="save" class="button primary" disabled={busy}>
          {words.save}
        </button>
        {check?.ok === false && (
          <button type="submit" name="anyway" class="button quiet" disabled={busy}>
            {words.anyway}
          </button>
        )}
      </div>
      <RestartNote names={MODEL_SETTINGS} />
    </form>
  );
}

const MODEL_SETTINGS = ['OPENAI_API_KEY', 'OPENROUTER_API_KEY', 'OPENAI_BASE_URL', 'AGENT_MODEL'];

const bodyOf = (given: (name: string) => string): Record<string, string> =>
  Object.fromEntries(
    [
      ['api_key', given('key')],
      ['base_url', given('address')],
      ['model', given('model')],
    ].filter(([, value]) => value !== ''),
  );

async function saved({ key, address, model }: { key: string; address: string; model: string }): Promise<void> {
  // a key of OpenRouter works there only
  const keyName = key.startsWith('sk-or-') && address === '' ? 'OPENROUTER_API_KEY' : 'OPENAI_API_KEY';
  await change({
    ...(key !== '' && { [keyName]: key }),
    OPENAI_BASE_URL: address || null,
    AGENT_MODEL: model || null,
  });
  tell(texts.saved);
}

const Checked = ({ check: { ok, model, took_ms: took, price, learned, problem } }: { check: ModelCheck }) =>
  ok ? (
    <p class="turn-note good">
      {words.works(model ?? '', took)} {price && `${words.price}: ${price}`} {learned}
    </p>
  ) : (
    <Problem text={problem ?? ''} />
  );
