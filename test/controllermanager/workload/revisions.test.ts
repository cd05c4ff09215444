import { expect, test } from 'vitest';
import { revisionData } from '../../../src/controllermanager/workload/revisions.ts';

test('a revision records the template with sorted keys, as kube-apiserver writes it at the next patch', () => {
  const data = revisionData({
    spec: { restartPolicy: 'Always', containers: [{ name: 'c', image: 'i' }] },
    metadata: { labels: { b: '1', a: '2' } },
  });
  expect(JSON.stringify(data)).toBe(
    '{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"a":"2","b":"1"}},' +
      '"spec":{"containers":[{"image":"i","name":"c"}],"restartPolicy":"Always"}}}}',
  );
});
