import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { RenderedYaml } from '../../../src/simulate/stages/rendered-yaml.ts';

const statusOf = (now: string, ip: string, name: string): string => `phase: Running
startTime: ${now}
conditions:
- { type: Ready, status: "True", lastTransitionTime: "${now}" }
hostIP: 127.0.0.1
podIP: ${ip}
podIPs: [{ ip: "${ip}" }]
message: "started ${name} at ${ip}:80 and ${ip}0"
ports: { ${ip}: 1.25 }
`;

const texts = [
  statusOf('2026-01-01T00:00:00Z', '10.0.0.1', 'web'),
  statusOf('2026-01-02T00:00:00Z', '10.0.0.2', 'web'),
  statusOf('2026-01-02T00:00:00Z', '127.0.0.1', 'web'),
  statusOf('2026-01-02T00:00:00Z', '0.0.0.0', 'db'),
  statusOf('0000-00-00T00:00:01Z', '0.0.0.1', 'db'),
  '1.2.3.4.5: 1.2\nversion: "v1.2.3"\nempty:\nlist: [1, true, null, 0.0.0.9]\n',
  Array.from({ length: 70 }, (_, at) => `- 10.0.0.${at}\n`).join(''),
  '"plain"',
  '',
];

test('each text has the value that YAML gives it, whatever was parsed before', () => {
  const yaml = new RenderedYaml();
  for (const text of [...texts, ...texts.toReversed()]) expect(yaml.parse(text)).toEqual(parse(text));
});

test('a value belongs to the caller', () => {
  const yaml = new RenderedYaml();
  const text = statusOf('2026-01-01T00:00:00Z', '10.0.0.1', 'web');
  (yaml.parse(text) as { conditions: unknown[] }).conditions.push('more');
  expect(yaml.parse(text)).toEqual(parse(text));
});
