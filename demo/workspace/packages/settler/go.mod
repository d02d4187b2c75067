module tidewater.example/settler

go 1.23

require (
	tidewater.example/relay v0.8.1
	tidewater.example/webhooks v1.3.0
)
