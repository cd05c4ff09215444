import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  Authority,
  createKey,
  hour,
  readSigningRequest,
  writeSigningRequest,
  year,
} from '../../src/pki/certificates.ts';

const now = Date.UTC(2026, 0, 1);

test('an authority signs certificates that OpenSSL takes for what they are', () => {
  const authority = Authority.create('the-ca', now);
  const ca = new X509Certificate(authority.cert);
  const { cert, key } = authority.issue({
    subject: { commonName: 'system:node:n', organizations: ['system:nodes'] },
    notBefore: now,
    notAfter: now + year,
    usages: ['server auth', 'client auth'],
    hosts: ['n.example', '192.0.2.7', '2001:db8::7'],
  });
  const issued = new X509Certificate(cert);
  expect(ca.ca).toBe(true);
  expect(issued.ca).toBe(false);
  expect(issued.verify(ca.publicKey)).toBe(true);
  expect(issued.checkIssued(ca)).toBe(true);
  expect(issued.issuer).toBe('CN=the-ca');
  expect(issued.subject.split('\n').toSorted()).toEqual(['CN=system:node:n', 'O=system:nodes']);
  expect(issued.subjectAltName).toBe('DNS:n.example, IP Address:192.0.2.7, IP Address:2001:DB8:0:0:0:0:0:7');
  expect(issued.keyUsage.toSorted()).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
  expect([issued.validFrom, issued.validTo].map((text) => Date.parse(text))).toEqual([now, now + year]);
  expect(key).toContain('BEGIN EC PRIVATE KEY');
});

test('an authority that is read back signs as before', () => {
  const { cert, key } = Authority.create('the-ca', now);
  const again = new Authority({ cert, key });
  const request = { subject: { commonName: 'x' }, notBefore: now, notAfter: now + hour };
  expect(new X509Certificate(again.issue(request).cert).verify(new X509Certificate(cert).publicKey)).toBe(
    true,
  );
});

test('a time after 2049 is written in full', () => {
  const authority = Authority.create('the-ca', now);
  const notAfter = Date.UTC(2061, 5, 7, 8, 9, 10);
  const { cert } = authority.issue({ subject: { commonName: 'x' }, notBefore: now, notAfter });
  expect(Date.parse(new X509Certificate(cert).validTo)).toBe(notAfter);
});

test.for([
  { says: 'names', hosts: ['n.example', '192.0.2.7'], dnsNames: ['n.example'], ips: ['192.0.2.7'] },
  { says: 'an IPv6 address', hosts: ['2001:db8::7'], dnsNames: [], ips: ['2001:db8:0:0:0:0:0:7'] },
  { says: 'no names', hosts: [], dnsNames: [], ips: [] },
])('a signing request with $says is read as it was written', ({ hosts, dnsNames, ips }) => {
  const subject = { commonName: 'system:node:n', organizations: ['system:nodes', 'others'] };
  const request = readSigningRequest(writeSigningRequest(createKey(), subject, hosts));
  expect(request).toMatchObject({ subject, dnsNames, ips, emails: [], uris: [] });
  const signed = new X509Certificate(
    Authority.create('the-ca', now).sign({ ...request, notBefore: now, notAfter: now + hour }),
  );
  expect(signed.publicKey.equals(request.publicKey)).toBe(true);
});

test('what is no signing request is refused, and so is one whose signature is not its key’s', () => {
  expect(() => readSigningRequest('nonsense')).toThrow('PEM block type must be CERTIFICATE REQUEST');
  const text = writeSigningRequest(createKey(), { commonName: 'n' });
  const [head = '', ...lines] = text.trim().split('\n');
  const foot = lines.pop() ?? '';
  const body = Buffer.from(lines.join(''), 'base64');
  // the last letter of the common name
  const at = body.indexOf(Buffer.from('n', 'latin1'), body.indexOf(Buffer.from([0x55, 0x04, 0x03])));
  body[at] = 'm'.charCodeAt(0);
  const forged = [head, body.toString('base64'), foot].join('\n');
  expect(() => readSigningRequest(forged)).toThrow('the signature of the request does not match its key');
});
