import { greeting } from '../lib/greeting';

export default function Page() {
  return <h1>{greeting("{{name}}")}</h1>;
}
