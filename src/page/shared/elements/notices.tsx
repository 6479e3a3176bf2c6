import { Store, useStore } from '../store.ts';

/** Short messages about what a person just did. */
interface Notice {
  id: number;
  text: string;
  bad: boolean;
}

const notices = new Store<Notice[]>([]);
let last = 0;

export function tell(text: string, bad = false): void {
  const id = ++last;
  notices.set([...notices.value.slice(-2), { id, text, bad }]);
  setTimeout(() => notices.set(notices.value.filter((each) => each.id !== id)), bad ? 9_000 : 4_000);
}

/** The region is there from the start, so that screen readers say what appears in it. */
export const Notices = () => (
  <div class="notices" role="status" aria-live="polite">
    {useStore(notices).map(({ id, text, bad }) => (
      <p key={id} class={bad ? 'notice bad' : 'notice'}>
        {text}
      </p>
    ))}
  </div>
);
