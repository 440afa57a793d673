// Validates common/rest/openapi.json with a library that is not ours (kin-openapi), and real requests and answers against it.
//
//	openapi_check openapi.json < exchanges.json
//
// Exchanges: [{"method", "url", "requestHeaders", "requestBody", "status", "headers", "body"}], bodies in base64. Prints what is wrong, one a line.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

type exchange struct {
	Method, URL             string
	RequestHeaders, Headers map[string]string
	RequestBody, Body       []byte
	Status                  int
}

func headers(from map[string]string) http.Header {
	h := http.Header{}
	for name, value := range from {
		h.Set(name, value)
	}
	return h
}

func die(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// A refused request need not be valid; its answer must be.
func check(x exchange, router routers.Router) error {
	request, err := http.NewRequest(x.Method, "http://server"+x.URL, bytes.NewReader(x.RequestBody))
	if err != nil {
		return err
	}
	request.URL.Host, request.URL.Scheme, request.Host = "", "", ""
	request.Header = headers(x.RequestHeaders)
	route, parameters, err := router.FindRoute(request)
	if err != nil {
		return err
	}
	options := &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, MultiError: true}
	in := &openapi3filter.RequestValidationInput{Request: request, PathParams: parameters, Route: route, Options: options}
	if x.Status < 400 {
		if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil {
			return err
		}
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: x.Status, Header: headers(x.Headers), Options: options}
	out.SetBodyBytes(x.Body)
	return openapi3filter.ValidateResponse(context.Background(), out)
}

func main() {
	for _, kind := range []string{"application/zip", "text/event-stream", "text/html", "text/markdown", "application/gzip"} {
		openapi3filter.RegisterBodyDecoder(kind, openapi3filter.FileBodyDecoder)
	}
	loader := openapi3.NewLoader()
	document, err := loader.LoadFromFile(os.Args[1])
	die(err)
	die(document.Validate(loader.Context))
	router, err := gorillamux.NewRouter(document)
	die(err)
	input, err := io.ReadAll(os.Stdin)
	die(err)
	var all []exchange
	die(json.Unmarshal(input, &all))
	wrong := 0
	for _, x := range all {
		if err := check(x, router); err != nil {
			fmt.Printf("%s %s %d: %v\n", x.Method, x.URL, x.Status, err)
			wrong++
		}
	}
	if wrong > 0 {
		os.Exit(1)
	}
}
