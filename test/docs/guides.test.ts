import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import { createApiClient } from '../../src/api/rest/http-client.ts';
import { nodeResource } from '../../src/api/resources.ts';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { systemClock } from '../../src/base/clock.ts';
import { runProgram } from '../../src/cli/program.ts';
import { validateFiles } from '../../src/cli/validate.ts';
import type { Node } from '../../src/kube/types.ts';
import { kubectls, noKubectl } from '../e2e/kubectl.ts';
import { freePort, makeDir, Podtender } from '../e2e/podtender.ts';
import { found } from '../support/found.ts';

const execute = promisify(execFile);
const repository = join(import.meta.dirname, '../..');
const guides = [
  'README.md',
  'docs/containers.md',
  'docs/joining.md',
  'docs/troubleshooting.md',
  'docs/upgrading.md',
];

interface Block {
  readonly guide: string;
  readonly language: string;
  readonly text: string;
}

/** Every code block of the guides, without the indentation of a list. */
const blocks: readonly Block[] = guides.flatMap((guide) =>
  Array.from(
    readFileSync(join(repository, guide), 'utf8').matchAll(/^( *)```(\w+)\n([\s\S]*?)^\1```/gm),
    ([, indent = '', language = '', text = '']) => ({
      guide,
      language,
      text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  ),
);
const shell = blocks.filter(({ language }) => language === 'sh');
const ofGuide = (guide: string, part: string): string => {
  const block = shell.find(({ guide: of, text }) => of === guide && text.includes(part));
  if (!block) throw new Error(`${guide} has no block with ${part}`);
  return block.text;
};

/** What a block writes by `<<'END'`. */
const hereDocuments = blocks.flatMap(({ guide, text }) =>
  Array.from(text.matchAll(/<<'END'\n([\s\S]*?)^END$/gm), ([, content = '']) => ({ guide, content })),
);

test.for(shell)('$guide: a shell takes $text', ({ text }) => {
  execFileSync('bash', ['-n'], { input: text });
});

test.for(hereDocuments.filter(({ content }) => /^apiVersion:/m.test(content)))(
  '$guide: manifests and settings are valid: $content',
  ({ content }) => {
    const dir = makeDir();
    const file = join(dir.path, 'file.yaml');
    writeFileSync(file, content);
    const lines: string[] = [];
    const code = validateFiles([file], (line) => lines.push(line));
    dir.remove();
    expect(code, lines.join('\n')).toBe(0);
  },
);

test.for(hereDocuments.filter(({ content }) => content.startsWith('{')))(
  '$guide: JSON is JSON: $content',
  ({ content }) => {
    expect(JSON.parse(content)).toBeTypeOf('object');
  },
);

/** Lines that call the command, with what a reader puts in. */
const calls = [...shell.map(({ text }) => text), ...hereDocuments.map(({ content }) => content)]
  .flatMap((text) => text.split('\n'))
  .map((text) => /^(?:npx podtender(?:@latest)?|ExecStart=\S+\/podtender) ([a-z][^#]*)/.exec(text)?.[1])
  .filter((call) => call !== undefined);

test.for([...new Set(calls)])('the command takes `%s`', async (call) => {
  const silent = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
  const done = () => Promise.resolve(0);
  const around = { env: {}, cwd: '/', exampleManifests: '/none', uid: 0, version: '1' };
  const code = await runProgram(
    call.trim().split(/\s+/),
    {
      up: done,
      run: done,
      validate: done,
      explain: done,
      virtualKubelet: done,
      newProvider: done,
      newController: done,
      generateTypes: done,
      apiserver: done,
      image: done,
      envtestAssets: done,
      launch: done,
      conformance: done,
      simulate: done,
    },
    around,
  );
  const said = silent.mock.calls.map(([text]) => String(text)).join('');
  silent.mockRestore();
  expect(code, said).toBe(0);
});

/** docs/joining.md word by word, but for the runtime, the places of files, and the token, which the embedded server has from the start. */
describe.skipIf(noKubectl !== undefined)('docs/joining.md', { timeout: 120_000 }, () => {
  test('a node joins with the token, rights, files and settings of the guide', async () => {
    const dir = makeDir();
    const etc = join(dir.path, 'etc');
    mkdirSync(etc);
    const token = 'abcdef.0123456789abcdef';
    const user = {
      name: 'system:bootstrap:abcdef',
      groups: ['system:bootstrappers', 'system:bootstrappers:podtender'],
    };
    const server = await EmbeddedApiServer.start({ tokens: [{ token, user }] });
    const kubeconfig = join(dir.path, 'admin.conf');
    writeFileSync(kubeconfig, server.kubeconfig());
    writeFileSync(join(dir.path, 'ca.crt'), server.ca);
    const bin = join(dir.path, 'bin');
    mkdirSync(bin);
    const own = kubectls[0]?.path ?? '';
    if (isAbsolute(own)) symlinkSync(own, join(bin, 'kubectl'));
    const path = `${bin}:${process.env['PATH'] ?? ''}`;
    const run = async (block: string): Promise<void> => {
      const text = block
        .replaceAll('/etc/podtender', etc)
        .replaceAll('https://SERVER:6443', server.url)
        .replaceAll('--token=TOKEN', `--token=${token}`)
        .replaceAll(/^npx .*$/gm, '');
      const env = { PATH: path, HOME: dir.path, KUBECONFIG: kubeconfig };
      await execute('bash', ['-e', '-c', text], { cwd: dir.path, env });
    };
    const client = createApiClient(
      { server: server.url, ca: server.ca, ...server.admin },
      { clock: systemClock },
    );
    let agent: Podtender | undefined;
    try {
      await run(ofGuide('docs/joining.md', 'TOKEN_ID='));
      await run(ofGuide('docs/joining.md', 'clusterrolebinding podtender-bootstrap'));
      await run(ofGuide('docs/joining.md', 'set-cluster'));
      await run(ofGuide('docs/joining.md', '> /etc/podtender/config.yaml'));
      const command = ofGuide('docs/joining.md', '--bootstrap-kubeconfig').replaceAll('/etc/podtender', etc);
      const args = command.trim().split(/\s+/).slice(3);
      const provider = args.indexOf('--provider');
      args.splice(provider, 2, '--provider', 'memory', `--port=${await freePort()}`, '--healthz-port=0');
      agent = new Podtender({ dataDir: join(dir.path, 'data'), command: 'run', args });
      const isReady = ({ status }: Node): boolean | undefined =>
        status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True');
      const readyNode = async (): Promise<Node | undefined> =>
        (await client.list<Node>(nodeResource)).items.find(isReady);
      const node = await found('a node that is Ready', readyNode, { withinMs: 60_000 });
      expect(node.metadata?.name).toBe('e2e');
      expect(readFileSync(join(etc, 'kubelet.conf'), 'utf8')).toContain(server.url);
    } finally {
      await agent?.end();
      await client.close();
      await server.stop();
      dir.remove();
    }
  });
});
