import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readImageRegistries } from '../../src/app/image-registries.ts';

function written(text: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'registries-'));
  onTestFinished(() => {
    rmSync(dir, { recursive: true });
  });
  const file = join(dir, 'registries.yaml');
  writeFileSync(file, text);
  return file;
}

test('registries are read with their credentials, and the rest of the file is left alone', () => {
  const file = written(`
rootDir: /home/agent
registry:
  default: { repository: r.example/team, secretName: team-pulls, password: '' }
  allows:
    - { repository: mirror.example, username: node, password: hidden }
    - { serverAddress: other.example, auth: bm9kZTpoaWRkZW4= }
`);
  expect(readImageRegistries(file)).toEqual({
    default: { repository: 'r.example/team', secretName: 'team-pulls' },
    allows: [
      { repository: 'mirror.example', username: 'node', password: 'hidden' },
      { serverAddress: 'other.example', auth: 'bm9kZTpoaWRkZW4=' },
    ],
  });
});

test.each([
  ['{}', 'registry: must be a map'],
  ['[]', 'the file: must be a map'],
  ['registry: { other: 1 }', 'registry.other: is no setting'],
  ['registry: { allows: {} }', 'registry.allows: must be a list of registries'],
  ['registry: { default: hidden }', 'registry.default: must be a map'],
  ['registry: { default: { repository: a, secret: hidden } }', 'registry.default.secret: is no setting'],
  [
    'registry: { default: { repository: a, password: [hidden] } }',
    'registry.default.password: must be a text',
  ],
  [
    'registry: { default: { repository: a, username: u } }',
    'registry.default: username and password belong together',
  ],
  [
    'registry: { allows: [{ username: u, password: hidden }] }',
    'registry.allows[0]: credentials need a repository or a serverAddress that they are for',
  ],
  ['registry: { allows: [{}] }', 'registry.allows[0]: needs a repository, a serverAddress or a secretName'],
  [
    'registry: { default: { repository: "https://a" } }',
    'registry.default.repository: "https://a" is not a repository',
  ],
])('%s is refused by name, without secrets', (text, message) => {
  const file = written(text);
  expect(() => readImageRegistries(file)).toThrow(`--image-registries ${file}: ${message}`);
  expect(() => readImageRegistries(file)).not.toThrow('hidden');
});

test('a file that is not there is named', () => {
  expect(() => readImageRegistries('/nowhere/r.yaml')).toThrow(
    /^--image-registries \/nowhere\/r.yaml: .*no such file/,
  );
});
