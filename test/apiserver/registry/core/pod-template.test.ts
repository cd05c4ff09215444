import { expect, test } from 'vitest';
import { podTemplateStrategy } from '../../../../src/apiserver/registry/core/pod-template.ts';
import { body, defaulted, OneKind, template } from '../one-kind.ts';

test('a pod template has the defaults of a pod and counts its changes', () => {
  const templates = new OneKind(podTemplateStrategy);
  expect(body(templates.create({ template: template() }).object)).toEqual({
    metadata: { generation: 1 },
    template: defaulted(),
  });
  expect(
    templates.update((one) => ({ ...one, template: template({ hostname: 'a' }) })).object,
  ).toHaveProperty('metadata.generation', 2);
  const guests = template({ ephemeralContainers: [{ name: 'd', image: 'x' }] });
  expect(templates.update((one) => ({ ...one, template: guests })).faults).toEqual([
    'template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template',
  ]);
});
