// Runs before the scripts of every page. A page waits for the answer to such a question, and nobody would see it: the
// answer is no.
window.confirm = () => false;
window.prompt = () => null;
window.print = () => {};
