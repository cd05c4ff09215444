import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { projectContracts } from '../../src/app/new-provider.ts';
import { Consumer, PackedPackage, repository } from '../support/consumer.ts';

/** What those who install the package get: packed, unpacked in a project of their own, type-checked and run there. */
describe('the packed package', { timeout: 300_000 }, () => {
  let packed: PackedPackage;
  let consumer: Consumer;
  const made: { remove(): void }[] = [];

  beforeAll(() => {
    made.push((packed = new PackedPackage()));
    made.push((consumer = new Consumer(packed)));
  }, 600_000);

  afterAll(() => {
    for (const one of made) one.remove();
  }, 120_000);

  const resolutions = {
    NodeNext: { module: 'nodenext', moduleResolution: 'nodenext' },
    Bundler: { module: 'esnext', moduleResolution: 'bundler' },
  };

  test.for(Object.keys(resolutions) as (keyof typeof resolutions)[])(
    'every export, every code block of README and docs, and the reference surface compile: %s',
    (resolution) => {
      const all = consumer
        .specifiers(packed.files)
        .map((name, index) => `import * as m${index} from '${name}';`);
      const names = all.map((_, index) => `m${index}`).join(', ');
      const files = [consumer.write('all.ts', `${all.join('\n')}\nexport const all = [${names}];\n`)];
      for (const { name, text } of codeBlocks()) files.push(consumer.write(`blocks/${name}.ts`, text));
      for (const surface of ['consumer-surface.ts', 'consumer-vkubelet.ts']) {
        const text = readFileSync(join(repository, 'test/support', surface), 'utf8');
        files.push(consumer.write(surface, asConsumer(text)));
      }
      expect(consumer.types(resolutions[resolution], files)).toBe('');
    },
  );

  test('every export is imported by Node.js', () => {
    const names = consumer.specifiers(packed.files);
    expect(names).toEqual(
      expect.arrayContaining(['podtender', 'podtender/provider', 'podtender/providers/memory']),
    );
    const lines = names.map(
      (name) => `if (Object.keys(await import('${name}')).length === 0) throw new Error('${name}');`,
    );
    consumer.write('all.mjs', lines.join('\n'));
    expect(consumer.run(process.execPath, ['all.mjs'])).toEqual({ code: 0, output: '' });
  });

  test('what the README says of a provider works as it stands', () => {
    const block = codeBlocks().find(({ text }) => text.includes('class Rooms'));
    consumer.write('rooms.ts', `${block?.text ?? ''}\nexport const rooms = new Rooms();\n`);
    consumer.write(
      'rooms-run.mjs',
      `import { rooms } from './rooms.ts';
       import { createProvider } from 'podtender/provider';
       const ref = { uid: 'u', name: 'p', namespace: 'd' };
       const pod = { metadata: ref, spec: { containers: [{ name: 'c', image: 'i' }] } };
       const { changed } = await rooms.syncPod({ pod, observed: await rooms.getPodStatus(ref) });
       const { containerStatuses } = await rooms.getPodStatus(ref);
       await rooms.killPod(pod, (await rooms.listPods())[0]);
       console.log(changed, containerStatuses[0].state, (await rooms.listPods()).length, (await createProvider('rooms')).name);`,
    );
    expect(consumer.run(process.execPath, ['--no-warnings', 'rooms-run.mjs']).output).toBe(
      'true running 0 rooms\n',
    );
  });

  test('the node in ten lines of the README runs as it stands', () => {
    const block = codeBlocks().find(({ text }) => text.includes('await runNode('));
    consumer.write('ten-lines.ts', block?.text ?? '');
    expect(consumer.run(process.execPath, ['--no-warnings', 'ten-lines.ts']).output).toMatch(
      /^node is Ready, kubelet API on port \d+\n$/,
    );
  });

  test.for(projectContracts)(
    'a project of new-provider --contract %s type-checks, and its own tests pass as generated',
    (contract) => {
      const name = `my-${contract}`;
      const program = join(consumer.package, 'bin/podtender.mjs');
      const written = consumer.run(process.execPath, [program, 'new-provider', name, '--contract', contract]);
      expect(written, written.output).toMatchObject({ code: 0 });
      const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
      expect(consumer.run(process.execPath, [compiler, '-p', name, '--pretty', 'false'])).toEqual({
        code: 0,
        output: '',
      });
      const tests = consumer.run(process.execPath, ['--test', `${name}/test/*.test.ts`]);
      expect(tests, tests.output).toMatchObject({ code: 0 });
      expect(tests.output).toMatch(/fail 0\n/);
      expect(tests.output).toContain('kill-stops-everything');
    },
  );

  test('a project of new-controller type-checks, its tests pass as generated, and its types are generated again', () => {
    const program = join(consumer.package, 'bin/podtender.mjs');
    const kind = ['--group', 'cache.example.com', '--kind', 'Memcached', '--api-version', 'v1'];
    const webhooks = ['--webhook', '--conversion', 'v1alpha1'];
    const written = consumer.run(process.execPath, [
      program,
      'new-controller',
      'my-cache',
      ...kind,
      ...webhooks,
    ]);
    expect(written, written.output).toMatchObject({ code: 0 });
    const again = consumer.run(process.execPath, [program, 'generate-types', 'my-cache/config/crd.yaml']);
    expect(again.output).toContain('export const Memcached: Kind<Memcached> = defineKind<Memcached>({');
    const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
    expect(consumer.run(process.execPath, [compiler, '-p', 'my-cache', '--pretty', 'false'])).toEqual({
      code: 0,
      output: '',
    });
    const tests = consumer.run(process.execPath, ['--test', 'my-cache/test/*.test.ts']);
    expect(tests, tests.output).toMatchObject({ code: 0 });
    expect(tests.output).toMatch(/pass 6\n/);
  });

  test('publint and @arethetypeswrong/cli find nothing', () => {
    const bin = (name: string, path: string): string =>
      join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), path);
    const publint = consumer.run(process.execPath, [
      join(repository, 'node_modules/publint/src/cli.js'),
      'run',
      consumer.package,
      '--strict',
    ]);
    expect(publint, publint.output).toMatchObject({ code: 0 });
    const attw = consumer.run(process.execPath, [
      bin('@arethetypeswrong/cli', 'dist/index.js'),
      packed.tarball,
      '--profile',
      'esm-only',
      '--no-emoji',
    ]);
    expect(attw, attw.output).toMatchObject({ code: 0 });
  });

  test('every link of the packed README and docs leads to a file of the package or to the web', () => {
    const there = new Set(packed.files);
    const folders = new Set(
      packed.files.flatMap((file) =>
        file
          .split('/')
          .slice(0, -1)
          .map((_, end, all) => all.slice(0, end + 1).join('/')),
      ),
    );
    const broken = packed.files
      .filter((file) => file.endsWith('.md') && !/^(ARCHITECTURE|CONTRIBUTING|CHANGELOG)/.test(file))
      .flatMap((file) => linksOf(file).map((link) => ({ file, link })))
      .filter(({ file, link }) => {
        if (/^(https?:|mailto:|#)/.test(link)) return false;
        const target = posix.join(posix.dirname(file), link.replace(/#.*$/, ''));
        if (file === 'README.md') return !there.has(target);
        // a document may point at sources: then they are in the repository
        return !there.has(target) && !folders.has(target) && !existsSync(join(repository, target));
      });
    expect(broken).toEqual([]);
  });

  const linksOf = (file: string): readonly string[] =>
    Array.from(
      readFileSync(join(consumer.package, file), 'utf8').matchAll(/\]\(([^)\s]+)\)/g),
      ([, link = '']) => link,
    );

  test('source maps hold the sources', () => {
    const maps = packed.files.filter((file) => file.endsWith('.js.map'));
    expect(maps.length).toBeGreaterThan(100);
    for (const map of maps) {
      const { sourcesContent } = JSON.parse(readFileSync(join(consumer.package, map), 'utf8')) as {
        sourcesContent?: readonly unknown[];
      };
      expect(sourcesContent?.[0], map).toEqual(expect.any(String));
    }
  });

  test('the example manifests come along', () => {
    expect(readdirSync(join(consumer.package, 'examples/manifests')).length).toBeGreaterThan(3);
  });

  test('without @kubernetes/client-node there are help, a node, and another that joins it with a plain kubeconfig', async () => {
    rmSync(join(consumer.folder, 'node_modules/@kubernetes/client-node'));
    expect(
      consumer.run(process.execPath, ['--input-type=module', '-e', "await import('@kubernetes/client-node')"])
        .code,
    ).not.toBe(0);
    const program = join(consumer.package, 'bin/podtender.mjs');
    const help = consumer.run(process.execPath, [program, '--help']);
    expect(help, help.output).toMatchObject({ code: 0 });
    const data = mkdtempSync(join(tmpdir(), 'podtender-data-'));
    const empty = join(data, 'empty');
    const flags = (name: string): string[] => [
      '--provider',
      'memory',
      '--node-name',
      name,
      '--data-dir',
      join(data, name),
      '--output',
      'json',
      '--port=0',
    ];
    const start = (command: string, args: readonly string[]) =>
      spawn(process.execPath, [program, command, ...args], {
        cwd: consumer.folder,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    const up = start('up', flags('one'));
    try {
      const kubeconfig = join(data, 'one', 'kubeconfig');
      await line(up, /"phase":"Running"/);
      expect(existsSync(kubeconfig)).toBe(true);
      const run = start('run', [
        '--kubeconfig',
        kubeconfig,
        ...flags('two')
          .map((flag) => flag)
          .filter((flag) => !/^--port|^--output|^json$/.test(flag)),
        '--manifests',
        empty,
      ]);
      try {
        await line(run, /joined|ready/i);
      } finally {
        run.kill('SIGTERM');
        await new Promise((resolve) => run.once('exit', resolve));
      }
    } finally {
      up.kill('SIGTERM');
      await new Promise((resolve) => up.once('exit', resolve));
      rmSync(data, { recursive: true, force: true });
    }
  });
});

/** Resolves when the process writes such a line; rejects with all that it wrote when it ends before. */
function line(child: ReturnType<typeof spawn>, wanted: RegExp): Promise<void> {
  return new Promise((resolve, reject) => {
    let all = '';
    for (const stream of [child.stdout, child.stderr]) {
      if (!stream) continue;
      createInterface({ input: stream }).on('line', (text) => {
        all += `${text}\n`;
        if (wanted.test(text)) resolve();
      });
    }
    child.once('exit', () => {
      reject(new Error(`the command has ended:\n${all}`));
    });
  });
}

/** The text with the repository's entry points by the names that consumers have for them. */
const asConsumer = (text: string): string =>
  text
    .replaceAll("'../../src/index.ts'", "'podtender'")
    .replaceAll(/'\.\.\/\.\.\/src\/(.+)\/index\.ts'/g, "'podtender/$1'");

interface Block {
  readonly name: string;
  readonly text: string;
}

/** The TypeScript of README and docs, each block a module of its own. */
function codeBlocks(): readonly Block[] {
  const documents = [
    'README.md',
    ...readdirSync(join(repository, 'docs'), { recursive: true, encoding: 'utf8' }).map(
      (file) => `docs/${file}`,
    ),
  ];
  return documents
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) =>
      Array.from(
        readFileSync(join(repository, file), 'utf8').matchAll(/^```(?:ts|typescript)\n([\s\S]*?)^```/gm),
      ).map(([, text = ''], index) => ({
        name: `${file.replace(/\W/g, '-')}-${index + 1}`,
        text: /^(import|export) /m.test(text) ? text : `${text}\nexport {};\n`,
      })),
    );
}
