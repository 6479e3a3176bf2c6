link gemini cli/node_modules/@google/gemini-cli/bundle/gemini.js
