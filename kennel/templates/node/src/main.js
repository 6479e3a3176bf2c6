import { greeting } from './greeting.js';

console.log(greeting(process.argv[2] ?? '{{name}}'));
