export function App({ name = '{{name}}' }: { name?: string }) {
  return <h1>Hello, {name}!</h1>;
}
