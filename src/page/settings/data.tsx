import type { OwnerSettings, SettingsChanged } from '../../contracts/owner.ts';
import { Icon } from '../shared/elements/icons.tsx';
import { Problem } from '../shared/elements/parts.tsx';
import { send } from '../shared/server/http.ts';
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

/** Said on each page of the settings, until it is done: what waits for a restart, and what is wrong in the file. */
export function SettingsNotes() {
  const { restart = [], problem = null } = useResource(settings).value ?? {};
  return (
    <>
      {problem !== null && <Problem text={texts.settings.wrongFile(problem)} />}
      {restart.length > 0 && (
        <p class="warning restart">
          <Icon name="warning" size={16} />
          <span>
            {texts.settings.restart(restart.join(', '))} {texts.settings.restartHow}
          </span>
        </p>
      )}
    </>
  );
}
