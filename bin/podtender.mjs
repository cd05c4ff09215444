#!/usr/bin/env node
// The command. Plain JavaScript for any Node, so that one that is too old is told so instead of showing a stack trace.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(
    `podtender needs Node.js 22.19 or newer; this is ${process.versions.node} (${process.execPath}).\n` +
      'Inside a checkout, "npm start" brings a right one along.\n',
  );
  process.exit(69);
}
const { enableCompileCache } = await import('node:module');
enableCompileCache?.();
const built = new URL('../dist/program/main.js', import.meta.url);
await import(
  existsSync(fileURLToPath(built)) ? built.href : new URL('../src/cli/main.ts', import.meta.url).href
);
