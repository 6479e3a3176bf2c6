import type { OwnerSettings, SettingsChanged } from '../../contracts/owner.ts';
import { send } from '../shared/http.ts';
import { Icon } from '../shared/icons.tsx';
import { Resource, useResource } from '../shared/resource.ts';
import { texts } from '../texts.ts';

export const settings = new Resource<OwnerSettings>('/v1/owner/settings', ({ about }) => about === 'settings', 1_000);

/** Writes settings; null gives back the default. @throws ApiError that names each mistake */
export async function change(values: Record<string, string | null>): Promise<SettingsChanged> {
  const changed = await send<SettingsChanged>('/v1/owner/settings', { method: 'PATCH', body: { settings: values }, attempts: 2 });
  settings.refresh();
  return changed;
}

/** Said on each page of the settings, until it is done. */
export function RestartNote() {
  const names = useResource(settings).value?.restart ?? [];
  if (names.length === 0) return null;
  return (
    <p class="warning restart">
      <Icon name="warning" size={16} />
      <span>
        {texts.settings.restart(names.join(', '))} {texts.settings.restartHow}
      </span>
    </p>
  );
}
