package needs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"time"
)

// Certificate writes a new self-signed certificate and its key, valid for an hour, into two PEM files.
func Certificate(t TB, certificate, key string, template x509.Certificate) *x509.Certificate {
	t.Helper()
	pair, errKey := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if errKey != nil {
		t.Fatalf("%v", errKey)
	}
	template.SerialNumber, template.NotAfter = big.NewInt(1), time.Now().Add(time.Hour)
	encoded, errCertificate := x509.CreateCertificate(rand.Reader, &template, &template, &pair.PublicKey, pair)
	secret, errSecret := x509.MarshalECPrivateKey(pair)
	made, errParse := x509.ParseCertificate(encoded)
	if err := errors.Join(errCertificate, errSecret, errParse,
		os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: encoded}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), 0o600),
	); err != nil {
		t.Fatalf("%v", err)
	}
	return made
}
