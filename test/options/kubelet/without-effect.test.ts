import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentFields } from '../../../src/options/agent/fields.ts';
import type { Field } from '../../../src/options/field.ts';
import { gatesInForce } from '../../../src/options/kubelet/feature-gates.ts';
import { kubeletFields } from '../../../src/options/kubelet/kubelet-fields.ts';
import { loadOptions } from '../../../src/options/load.ts';
import { formatFault } from '../../../src/options/options-error.ts';
import { whyWithoutEffect, withoutEffect } from '../../../src/options/kubelet/without-effect.ts';

const src = join(import.meta.dirname, '../../../src');

/** The words of all code that could read a setting, without comments. */
function words(): ReadonlySet<string> {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !/^(options|apiserver)\//.test(file),
  );
  const code = files.map((file) =>
    readFileSync(join(src, file), 'utf8').replace(/\/\*[^]*?\*\/|\/\/.*/g, ''),
  );
  return new Set(code.join('\n').match(/\w+/g));
}

const pathsOf = (fields: Readonly<Record<string, Field>>, above = ''): readonly string[] =>
  Object.entries(fields).flatMap(([name, { type }]) => [
    `${above}${name}`,
    ...(typeof type === 'object' && 'fields' in type ? pathsOf(type.fields, `${above}${name}.`) : []),
  ]);

test('every setting is used, or has a reason why it has no effect', () => {
  const read = words();
  const paths = pathsOf(kubeletFields);
  expect(Object.keys(withoutEffect).filter((path) => !paths.includes(path))).toEqual([]);
  const loaded = new Set(['configDir', 'logging', 'logging.verbosity']); // read by src/options itself
  const forgotten = paths.filter(
    (path) =>
      !loaded.has(path) && whyWithoutEffect(path) === undefined && !read.has(path.split('.').at(-1) ?? ''),
  );
  expect(forgotten).toEqual([]);
  const names = Object.keys(agentFields).filter((name) => !loaded.has(name));
  expect(names.filter((name) => !read.has(name))).toEqual([]);
});

const warningsOf = (text: string, flags = {}): readonly string[] =>
  loadOptions({ configFile: '/c.yaml', readText: () => text, flags }).warnings.map(formatFault);

test('what changes nothing is named once it is set to something else than the default', () => {
  const head = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
  expect(warningsOf(`${head}cpuManagerPolicy: none\nlogging:\n  flushFrequency: 5s\nmaxPods: 7\n`)).toEqual(
    [],
  );
  expect(
    warningsOf(
      `${head}cpuManagerPolicy: static\nreservedSystemCPUs: '0'\nlogging: {vmodule: [{filePattern: a, verbosity: 1}]}\n`,
      {
        'max-open-files': '1000',
      },
    ),
  ).toEqual([
    expect.stringMatching(/^\/c\.yaml:3:19 cpuManagerPolicy: it changes nothing here: containers share/),
    expect.stringMatching(/^\/c\.yaml:5:\d+ logging\.vmodule: it changes nothing here: there is one level/),
    expect.stringMatching(/^--max-open-files maxOpenFiles: it changes nothing here: Node\.js cannot/),
  ]);
});

test('a gate that nothing asks for is named; those that something asks for are in force one by one', () => {
  const gates = 'ContainerCheckpoint=false,NoSuchGate=true,AllAlpha=true';
  const options = loadOptions({ flags: { 'feature-gates': gates } });
  expect(options.warnings.map(formatFault)).toEqual([
    expect.stringMatching(/^--feature-gates featureGates\.NoSuchGate: it changes nothing here/),
  ]);
  expect(gatesInForce(options.kubelet.featureGates)).toMatchObject({
    ContainerCheckpoint: false,
    ContainerStopSignals: true,
    GracefulNodeShutdown: true,
  });
  expect(gatesInForce({ AllBeta: false })).toMatchObject({ GracefulNodeShutdown: false, NodeSwap: true });
});
